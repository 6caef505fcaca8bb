"""A stream whose client takes nothing of it ends, and is not kept for that client."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any, cast

import grpc.aio
import pytest
from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.types import (
    Artifact,
    Part,
    SubscribeToTaskRequest,
    TaskArtifactUpdateEvent,
    a2a_pb2_grpc,
)
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from a2a_temporal import HandlerOptions, connect, create_app, create_grpc_server
from tests.support.serving import served
from tests.support.stub_handler import StubHandler
from tests.support.waiting import eventually

_WRITE_TIMEOUT = timedelta(seconds=1)
_CHUNK = TaskArtifactUpdateEvent(
    task_id="t",
    context_id="c",
    artifact=Artifact(artifact_id="a", parts=[Part(text="x" * 100_000)]),
)


class _Flooding(StubHandler):
    """Streams without an end."""

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        self.waiting += 1
        try:
            while True:
                yield _CHUNK
                await asyncio.sleep(0)
        finally:
            self.finished += 1


async def _handler() -> Any:
    client = await connect(address="127.0.0.1:9", lazy=True, env={})
    handler = _Flooding(client)
    handler.options = HandlerOptions(stream_write_timeout=_WRITE_TIMEOUT)
    return cast("Any", handler)


class _Hiding:
    """A middleware as others write them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def passed_on(message: Any) -> None:
            await send(message)

        await self._app(scope, receive, passed_on)


async def _read_all(reader: asyncio.StreamReader) -> None:
    """Read what the kernels still hold; it has no end."""
    while True:
        await reader.readexactly(1000)


@pytest.mark.parametrize("middleware", [[], [Middleware(_Hiding)]], ids=["plain", "within another"])
async def test_its_connection_is_closed(middleware: list[Middleware]) -> None:
    handler = await _handler()
    async with served(create_app(handler, middleware=middleware)) as url:
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1000)
        writer.write(b"GET /tasks/t:subscribe HTTP/1.1\r\nHost: stub\r\nA2A-Version: 1.0\r\n\r\n")
        with contextlib.closing(writer):
            await eventually(lambda: handler.waiting == 1, within=30)
            await eventually(lambda: handler.finished == 1, within=30)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await asyncio.wait_for(_read_all(reader), 30)


async def test_a_client_that_reads_on_keeps_its_stream() -> None:
    handler = await _handler()
    async with served(create_app(handler)) as url:
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=1000)
        writer.write(b"GET /tasks/t:subscribe HTTP/1.1\r\nHost: stub\r\nA2A-Version: 1.0\r\n\r\n")
        with contextlib.closing(writer):
            deadline = asyncio.get_running_loop().time() + 3 * _WRITE_TIMEOUT.total_seconds()
            while asyncio.get_running_loop().time() < deadline:
                await reader.readexactly(1_000_000)
            assert handler.finished == 0


async def test_its_grpc_stream_ends() -> None:
    handler = await _handler()
    server = create_grpc_server(handler)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub: Any = a2a_pb2_grpc.A2AServiceStub(channel)
            stream = stub.SubscribeToTask(
                SubscribeToTaskRequest(id="t"), metadata=[("a2a-version", "1.0")]
            )
            await stream.read()
            await eventually(lambda: handler.finished == 1, within=30)
            stream.cancel()
    finally:
        await server.stop(0)
