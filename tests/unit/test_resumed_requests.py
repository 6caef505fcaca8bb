"""Which requests open a stream at once, and that nothing goes on behind those that read none."""

import asyncio
from typing import Any

import httpx
import pytest

from a2a_temporal import create_app
from a2a_temporal._http import exchange
from a2a_temporal._server.resume import URI
from tests.support.calls import BINDINGS, Caller, send_params
from tests.support.http_app import in_process
from tests.support.serving import served
from tests.support.stub_handler import stub_handler
from tests.support.waiting import eventually, within

RESUMING = {"A2A-Version": "1.0", "A2A-Extensions": URI, "A2A-Stream-Cursor": "run.4.0"}


def _resuming(caller: Caller, binding: str) -> Caller:
    return caller.over(binding).with_headers(
        **{name.replace("-", "_"): value for name, value in RESUMING.items()}
    )


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_SECONDS_FOR_A_REFUSAL", 0.0)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_an_answer_that_takes_long_is_no_stream_because_of_a_cursor(binding: str) -> None:
    handler = await stub_handler()
    async with in_process(create_app(handler)) as caller:
        sending = asyncio.create_task(
            _resuming(caller, binding).raw("SendMessage", send_params("slow"))
        )
        await eventually(lambda: handler.waiting == 1, within=5, what="the call")
        handler.gate.set()
        response = await within(5, sending)
    assert response.headers["content-type"].endswith("json"), response.text
    assert response.json()


@pytest.mark.parametrize("path", ["/tasks/quiet:subscribe", "/a-tenant/tasks/quiet:subscribe"])
async def test_a_head_request_leaves_no_subscription_behind(path: str) -> None:
    handler = await stub_handler()
    async with (
        served(create_app(handler)) as url,
        httpx.AsyncClient(trust_env=False, timeout=10) as http,
    ):
        response = await http.head(url + path, headers=RESUMING)
        assert response.headers["content-type"].startswith("text/event-stream")
        await eventually(lambda: handler.waiting == 0, within=5, what="the end of the reading")


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_resumed_stream_opens_at_once_and_ends_with_its_client(binding: str) -> None:
    handler = await stub_handler()
    async with (
        served(create_app(handler)) as url,
        httpx.AsyncClient(trust_env=False, timeout=10) as http,
    ):
        caller = _resuming(Caller(http=http, url=url), binding)
        async with caller.subscribe("quiet"):
            await eventually(lambda: handler.waiting == 1, within=5, what="the reading")
        await eventually(lambda: handler.waiting == 0, within=5, what="the end of the reading")


async def test_a_stream_of_0_3_is_resumed_as_well() -> None:
    handler = await stub_handler()
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe"}
    headers = RESUMING | {"A2A-Version": "0.3"}
    async with (
        served(create_app(handler)) as url,
        httpx.AsyncClient(trust_env=False, timeout=10) as http,
    ):
        request = http.build_request(
            "POST", url, json=body | {"params": {"id": "quiet"}}, headers=headers
        )
        response = await within(5, http.send(request, stream=True), what="the opening")
        assert response.headers["content-type"].startswith("text/event-stream")
        await response.aclose()
        await eventually(lambda: handler.waiting == 0, within=5, what="the end of the reading")
