"""A message of many parts in version 0.3 is translated beside the event loop."""

import asyncio
import gc
import time
from collections.abc import Iterator
from typing import Any

import grpc.aio
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2, a2a_v0_3_pb2_grpc

from a2a_temporal import create_grpc_server
from tests.support.http_app import in_process
from tests.support.stub_handler import stub_app, stub_handler

# CPU time of one turn of the event loop; before, it was up to a second on a fast machine.
MOST_SECONDS = 0.15
PARTS = 24_000


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Note what each turn of the event loop has cost."""
    gc.collect()
    gc.freeze()  # to look through what a thousand other tests have left is not the server's cost
    noted: list[float] = []
    run: Any = getattr(asyncio.Handle, "_run")  # noqa: B009 - it is no public one

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        noted.append(time.thread_time() - began)

    monkeypatch.setattr(asyncio.Handle, "_run", timed)
    yield noted
    gc.unfreeze()


@pytest.mark.parametrize("kind", ["text", "none"])
async def test_json_rpc(turns: list[float], kind: str) -> None:
    parts = [{"kind": kind, "text": "a"}] * 12_000
    message = {"kind": "message", "messageId": "m", "role": "user", "parts": parts}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
    async with in_process(await stub_app()) as caller:
        request = caller.http.build_request("POST", "/", json=body)
        turns.clear()
        answer = await caller.http.send(request)
    assert ("result" in answer.json()) == (kind == "text")
    assert max(turns) < MOST_SECONDS


async def test_rest(turns: list[float]) -> None:
    message = {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "a"}] * PARTS}
    async with in_process(await stub_app()) as caller:
        request = caller.http.build_request("POST", "/v1/message:send", json={"request": message})
        turns.clear()
        answer = await caller.http.send(request)
    assert answer.status_code == 200
    assert max(turns) < MOST_SECONDS


async def test_grpc(turns: list[float]) -> None:
    message = a2a_v0_3_pb2.Message(
        message_id="m",
        role=a2a_v0_3_pb2.Role.ROLE_USER,
        content=[a2a_v0_3_pb2.Part(text="a")] * PARTS,
    )
    server = create_grpc_server(await stub_handler())
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub: Any = a2a_v0_3_pb2_grpc.A2AServiceStub(channel)
            turns.clear()
            await stub.SendMessage(a2a_v0_3_pb2.SendMessageRequest(request=message))
    finally:
        await server.stop(None)
    assert max(turns) < MOST_SECONDS
