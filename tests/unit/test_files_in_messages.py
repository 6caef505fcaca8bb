"""Bytes of a file that are no base64 are refused, in the form of every binding and version."""

import base64
from typing import Any

import grpc.aio
import httpx
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2, a2a_v0_3_pb2_grpc

from a2a_temporal import create_app, create_grpc_server
from tests.support.calls import BINDINGS, Caller, send_params
from tests.support.http_app import in_process
from tests.support.stub_handler import stub_app, stub_handler

INVALID_PARAMS = -32602
BROKEN = ["not base64!", "AAA*", "A", "AAAAA", "AA=A", "AA===", "QUJD\n", "=", "é"]
WHOLE = ["", "QUJD", "QQ==", "QQ", "QUI=", "QUI", "-_-_", "+/+/"]


async def _v1(caller: Caller, method: str, raw: str) -> httpx.Response:
    return await caller.raw(method, send_params(parts=[{"text": "x"}, {"raw": raw}]))


async def _v0_3(caller: Caller, method: str, raw: str) -> httpx.Response:
    file = {"kind": "file", "file": {"bytes": raw, "mimeType": "image/png"}}
    parts = [{"kind": "text", "text": "x"}, file]
    message = {"kind": "message", "messageId": "m", "role": "user", "parts": parts}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}
    return await caller.http.post("/", json=body)


async def _v0_3_rest(caller: Caller, path: str, raw: str) -> httpx.Response:
    part = {"file": {"fileWithBytes": raw, "mimeType": "image/png"}}
    message = {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "x"}, part]}
    return await caller.http.post(path, json={"message": message})


CALLS: list[Any] = [
    *(
        pytest.param(_v1, method, binding, id=f"{method} {binding}")
        for method in ("SendMessage", "SendStreamingMessage")
        for binding in BINDINGS
    ),
    *(pytest.param(_v0_3, method, BINDINGS[0], id=method) for method in ("message/send",)),
    *(
        pytest.param(_v0_3_rest, path, BINDINGS[1], id=path)
        for path in ("/v1/message:send", "/v1/message:stream")
    ),
]


@pytest.mark.parametrize(("send", "method", "binding"), CALLS)
async def test_what_is_no_base64_is_refused_and_what_is_passes(
    send: Any, method: str, binding: str
) -> None:
    async with in_process(await stub_app()) as caller:
        for raw in BROKEN:
            refusal = await send(caller.over(binding), method, raw)
            error = refusal.json()["error"]
            assert error["code"] in (INVALID_PARAMS, 400), (raw, refusal.text)
            assert "base64" in refusal.text, (raw, refusal.text)
        for raw in WHOLE:
            # The SDK's adapter takes for the bytes of its protobuf the text that 0.3 has in JSON.
            sent = base64.b64encode(raw.encode()).decode() if send is _v0_3_rest else raw
            answer = await send(caller.over(binding), method, sent)
            assert "base64" not in answer.text, (raw, answer.text)
            assert answer.status_code == 200, (raw, answer.text)


async def test_a_stream_of_0_3_over_json_rpc_says_so_in_its_only_event() -> None:
    async with in_process(await stub_app()) as caller:
        refusal = await _v0_3(caller, "message/stream", "AAA*")
    assert refusal.headers["content-type"].startswith("text/event-stream")
    assert str(INVALID_PARAMS) in refusal.text


@pytest.mark.parametrize("as_json_has_it", [True, False])
async def test_0_3_takes_the_bytes_of_its_protobuf_as_they_are(as_json_has_it: bool) -> None:
    file = b"\x89PNG\r\n\x00\xff"
    handler = await stub_handler()
    sent = base64.b64encode(base64.b64encode(file) if as_json_has_it else file).decode()
    async with in_process(create_app(handler)) as caller:
        for path in ("/v1/message:send", "/v1/message:stream"):
            answer = await _v0_3_rest(caller, path, sent)
            assert answer.status_code == 200, answer.text
    message = a2a_v0_3_pb2.Message(message_id="m", role=a2a_v0_3_pb2.Role.ROLE_USER)
    message.content.add(text="x")
    message.content.add().file.file_with_bytes = base64.b64decode(sent)
    request = a2a_v0_3_pb2.SendMessageRequest(request=message)
    server = create_grpc_server(handler)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub: Any = a2a_v0_3_pb2_grpc.A2AServiceStub(channel)
            await stub.SendMessage(request)
            await stub.SendStreamingMessage(request).read()
    finally:
        await server.stop(None)
    assert [message.parts[1].raw for message in handler.messages] == [file] * 4
