"""What a handler raises unexpectedly stays in the log; the client gets a reference to it."""

import json
import logging
from typing import Any, cast

import pytest
from a2a.server.context import ServerCallContext
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.types import GetTaskRequest, Task
from starlette.requests import Request

from a2a_temporal import connect, create_app
from tests.support.calls import BINDINGS, send_params
from tests.support.http_app import in_process
from tests.support.results import Json
from tests.support.stub_handler import SECRET, StubHandler, stub_app

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


_RAW = ("utf-8", "surrogatepass")
OLD_CALLS: list[tuple[str, dict[str, object]]] = [
    ("message/send", {"metadata": {"x": 10**400}}),
    ("message/stream", {"metadata": {"x": 10**400}}),
    ("message/send", {"configuration": {"historyLength": 2**70}}),
    ("message/send", {"metadata": {"x": "\ud800"}}),
    ("tasks/get", {"id": "\ud800"}),
    ("tasks/get", {"id": "t", "historyLength": 2**70}),
    ("tasks/cancel", {"id": "\ud800"}),
    ("tasks/resubscribe", {"id": "\ud800"}),
    ("tasks/pushNotificationConfig/get", {"id": "\ud800"}),
    ("tasks/pushNotificationConfig/list", {"id": "\ud800"}),
    ("tasks/pushNotificationConfig/delete", {"id": "\ud800", "pushNotificationConfigId": "x"}),
    (
        "tasks/pushNotificationConfig/set",
        {"taskId": "t", "pushNotificationConfig": {"url": "\ud800"}},
    ),
]


@pytest.mark.parametrize(("method", "params"), OLD_CALLS)
async def test_what_0_3_can_say_and_1_0_cannot_is_the_clients_error(
    method: str, params: dict[str, object]
) -> None:
    message = {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "x"}]}
    if method.startswith("message/"):
        params = {"message": message, **params}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with in_process(await stub_app()) as caller:
        response = await caller.http.post("/", content=json.dumps(body))
    error = json.loads(response.text.removeprefix("data: "))["error"]
    assert error["code"] == -32602, error
    assert "codec" not in response.text
    assert "int too large" not in response.text


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize(
    "body",
    [
        {"method": "CancelTask", "params": "\ud800"},
        {"method": "\ud800", "params": {}},
        {"method": "GetTask", "params": {"id": "\ud800"}},
        {"method": "GetTask", "params": {"\ud800": "t"}},
    ],
)
async def test_a_part_of_a_character_is_the_clients_error(
    version: str, body: dict[str, object]
) -> None:
    body = {"jsonrpc": "2.0", "id": "\ud800", **body}
    headers = {"A2A-Version": version}
    for content in (json.dumps(body).encode(), json.dumps(body, ensure_ascii=False).encode(*_RAW)):
        async with in_process(await stub_app()) as caller:
            response = await caller.http.post("/", content=content, headers=headers)
            rest = await caller.http.post("/message:send", content=content, headers=headers)
        assert response.json()["error"]["code"] == -32602, response.text
        assert "come in pairs" in response.json()["error"]["message"]
        assert rest.status_code == 400


async def test_whole_characters_are_text_however_they_are_written() -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "\U0001f600 \ud55c"}}
    for content in (json.dumps(body).encode(), json.dumps(body, ensure_ascii=False).encode()):
        async with in_process(await stub_app()) as caller:
            headers = {"A2A-Version": "1.0"}
            response = await caller.http.post("/", content=content, headers=headers)
        assert "come in pairs" not in response.text


async def test_a_request_0_3_does_not_know_is_refused_by_the_names_of_its_fields() -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": 5}}
    async with in_process(await stub_app()) as caller:
        response = await caller.http.post("/", json=body)
    assert response.json()["error"]["data"]["errors"][0]["field"] == "params.message"
    assert "pydantic" not in response.text


async def test_a_refusal_by_0_3_is_no_longer_than_its_request() -> None:
    message: Json = {"kind": "message", "messageId": "m", "role": "user"}
    params = {"message": {**message, "parts": [{"kind": "x"}] * 20_000}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
    async with in_process(await stub_app()) as caller:
        response = await caller.http.post("/", json=body)
    assert response.json()["error"]["code"] == -32600
    assert len(response.content) < 1000


EMPTY_PART: Json = {"message": {"role": "ROLE_USER", "content": [{}]}}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/message:send", EMPTY_PART),
        ("POST", "/v1/message:stream", EMPTY_PART),
        ("GET", "/v1/tasks/t?historyLength=many", None),
        ("GET", "/v1/tasks/t?historyLength=99999999999999999999", None),
    ],
)
async def test_nor_does_0_3_over_rest_answer_500_to_what_it_cannot_read(
    method: str, path: str, body: dict[str, object] | None
) -> None:
    async with in_process(await stub_app()) as caller:
        response = await caller.http.request(method, path, json=body)
    assert response.status_code == 400, response.text
    assert response.json()["error"]["status"] == "INVALID_ARGUMENT"


class BrokenResults(StubHandler):
    """Returns what cannot be told to a client of 0.3, nor to any other."""

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        return cast("Task", _Odd())


class _Odd:
    def __getattr__(self, name: str) -> object:
        raise ValueError(SECRET)


async def test_a_result_that_0_3_cannot_say_is_an_internal_error_without_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = await connect(address="127.0.0.1:9", lazy=True, env={})
    app = create_app(cast("Any", BrokenResults(client)))
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "t"}}
    async with in_process(app) as caller:
        rpc = await caller.http.post("/", json=body)
        rest = await caller.http.get("/v1/tasks/t")
    for response in (rpc, rest):
        assert "Internal error (reference " in response.text
        assert "hunter2" not in response.text
    assert SECRET in caplog.text


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
