"""What a handler raises unexpectedly stays in the log; the client gets a reference to it."""

import logging

import pytest
from a2a.server.context import ServerCallContext
from a2a.server.routes.common import DefaultServerCallContextBuilder
from starlette.requests import Request

from tests.support.calls import BINDINGS, send_params
from tests.support.http_app import in_process
from tests.support.stub_handler import SECRET, stub_app

CALLS = [
    ("SendMessage", send_params("boom")),
    ("SendStreamingMessage", send_params("boom")),
    ("SendStreamingMessage", send_params("late boom")),
    ("SubscribeToTask", {"id": "boom"}),
    ("GetTask", {"id": "boom"}),
]


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(("method", "params"), CALLS)
async def test_the_text_of_an_exception_reaches_no_client(
    binding: str, method: str, params: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        async with in_process(await stub_app()) as caller:
            response = await caller.over(binding).raw(method, params)
    assert "Internal error (reference " in response.text
    assert "hunter2" not in response.text
    assert "ValueError" not in response.text
    reference = response.text.split("reference ")[1].split(")")[0]
    assert any(reference in record.getMessage() for record in caplog.records)
    assert SECRET in caplog.text


@pytest.mark.parametrize("method", ["message/send", "message/stream"])
@pytest.mark.parametrize("text", ["boom", "late boom"])
async def test_nor_does_it_reach_a_0_3_client(method: str, text: str) -> None:
    message = {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": text}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}
    async with in_process(await stub_app()) as caller:
        response = await caller.http.post("/", json=body)
        rest = await caller.http.post(
            f"/v1/{method.replace('/', ':')}",
            json={"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": text}]}},
        )
    assert "hunter2" not in response.text + rest.text


class FailingBuilder(DefaultServerCallContextBuilder):
    """A context builder with a bug."""

    def build(self, request: Request) -> ServerCallContext:
        raise KeyError(SECRET)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_failing_context_builder_leaks_nothing(binding: str) -> None:
    async with in_process(await stub_app(context_builder=FailingBuilder())) as caller:
        response = await caller.over(binding).raw("GetTask", {"id": "t"})
    assert "Internal error (reference " in response.text
    assert "hunter2" not in response.text


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff\xfe", b"[" * 100_000, b"", b'{"jsonrpc": "2.0", "id": 1'],
    ids=["cut", "not utf-8", "nested too deep", "empty", "unfinished"],
)
async def test_what_is_no_json_is_a_parse_error(body: bytes) -> None:
    async with in_process(await stub_app()) as caller:
        response = await caller.http.post("/", content=body, headers={"A2A-Version": "1.0"})
    assert response.status_code == 200
    assert response.json()["error"]["code"] == -32700
