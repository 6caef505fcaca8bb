"""What a stream is like on a real socket: it pings, it survives the server's stop in good order."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.calls import BINDINGS, Caller, http_client
from tests.support.frames import terminal_frames
from tests.support.processes import Process, accepts, free_port
from tests.support.waiting import Bound, eventually

PING = 0.5


@asynccontextmanager
async def stub_server(folder: Path) -> AsyncGenerator[tuple[Process, Caller]]:
    port = free_port()
    command = [sys.executable, "-m", "tests.support.stub_server", str(port), str(PING)]
    server = Process("stub", command, env={}, log=folder / "stub.log")
    server.start()
    try:
        await eventually(lambda: accepts(port), within=15, what="the stub server")
        async with http_client() as http:
            yield server, Caller(http=http, url=f"http://127.0.0.1:{port}")
    finally:
        await server.put_away()


async def test_a_silent_stream_gets_a_ping_from_every_binding(tmp_path: Path) -> None:
    async with stub_server(tmp_path) as (_, caller):
        for binding in BINDINGS:
            async with caller.over(binding).stream("silent") as frames:
                await frames.next()
                await eventually(
                    lambda frames=frames: len(frames.pings) >= 3, within=PING * 8, what="3 pings"
                )
        body = _v0_3_stream("silent")
        async with caller.http.stream("POST", caller.url + "/", json=body) as response:
            await _read_until(response, ": ping")


async def test_sigterm_ends_streams_without_a_terminal_event_and_then_the_process(
    tmp_path: Path,
) -> None:
    async with stub_server(tmp_path) as (server, caller):
        async with caller.stream("silent") as one, caller.over(BINDINGS[1]).stream("silent") as two:
            await one.next()
            await two.next()
            server.terminate()
            bound = Bound(10)
            for frames in (one, two):
                received = await frames.to_the_end(within=5)
                assert len(received) == 1
                assert terminal_frames(received) == []
        assert await server.exited(within=10) in (0, -15)
        assert bound.left, f"it took longer than {bound}"
        assert "Traceback" not in server.output(), server.output()


async def test_a_client_that_leaves_ends_its_stream_quietly(tmp_path: Path) -> None:
    async with stub_server(tmp_path) as (server, caller):
        async with caller.stream("silent") as frames:
            await frames.next()
        async with caller.stream("done") as frames:
            assert len(await frames.to_the_end()) == 2
        assert "Traceback" not in server.output(), server.output()


async def _read_until(response: httpx.Response, text: str) -> None:
    seen = ""
    async for chunk in response.aiter_text():
        seen += chunk
        if text in seen:
            return
    pytest.fail(f"no {text!r} in {seen!r}")


def _v0_3_stream(text: str) -> dict[str, object]:
    message = {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": text}]}
    return {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": {"message": message}}
