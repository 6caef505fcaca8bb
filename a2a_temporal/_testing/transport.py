"""An httpx transport that calls an ASGI app in this process and streams what it answers.

``httpx.ASGITransport`` hands out an answer only when the app has finished it, so an event stream
would stay silent until its task has ended.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
from starlette.types import ASGIApp, Message


class StreamingTransport(httpx.AsyncBaseTransport):
    """Calls an app; every call runs in an asyncio task of its own.

    Args:
        app: The ASGI app; its lifespan is the caller's business.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Call the app; returns when the answer has begun."""
        call = _Call(self._app, request, await request.aread())
        return await call.answer()


class _Call(httpx.AsyncByteStream):
    def __init__(self, app: ASGIApp, request: httpx.Request, body: bytes) -> None:
        self._sent: asyncio.Queue[Message | None] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._body: bytes | None = body
        self._running = asyncio.create_task(self._run(app, _scope(request)))

    async def answer(self) -> httpx.Response:
        start = await self._sent.get()
        if start is None:
            await self._running
            raise httpx.RemoteProtocolError("the app ended without an answer")
        headers: list[tuple[bytes, bytes]] = [*start.get("headers", [])]
        return httpx.Response(start["status"], headers=headers, stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self._sent.get()) is not None:
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body", False):
                return
        await self._running

    async def aclose(self) -> None:
        """Hang up: the app sees its client disconnect."""
        self._gone.set()
        if not self._running.done():
            self._running.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self._running

    async def _run(self, app: ASGIApp, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._receive, self._send)
        finally:
            self._sent.put_nowait(None)

    async def _receive(self) -> Message:
        if self._body is None:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def _send(self, message: Message) -> None:
        self._sent.put_nowait(message)


def _scope(request: httpx.Request) -> dict[str, Any]:
    path, _, query = request.url.raw_path.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": path,
        "query_string": query,
        "server": (request.url.host, request.url.port),
        "client": ("127.0.0.1", 123),
        "root_path": "",
        "state": {},
    }
