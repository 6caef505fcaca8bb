"""Server-sent events for many silent streams: pings, and an end that comes from outside.

One task for all streams of an app does the pinging. sse-starlette's response has tasks of its own
for each stream, which cost several times the memory
(docs/decisions/0006-own-response-for-event-streams.md).
"""

import asyncio
import contextlib
import math
import signal
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Generator
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

_PING = b": ping\r\n\r\n"
_TICK_SECONDS = 0.25
_PINGS_AT_ONCE = 20

LINE_ENDS = str.maketrans({end: f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"})
"""JSON may hold these as they are, and does so only within its strings; clients built on Python's
`splitlines` (httpx, so the official one too) take them for the ends of lines."""

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]

# How deep a web server's own `send` may lie, and the names under which middleware keeps it.
_MOST_LAYERS = 50
_SEND_NAMES = ("send", "_send")


class EventStreams:
    """All open streams of an app.

    A task pings them and looks out for the end of the process. It runs while there are calls or
    streams, so it needs no lifespan: an app that is mounted into another has none.

    Args:
        ping_seconds: A stream that was silent this long gets a comment line.
        write_timeout: A stream whose client takes nothing for so many seconds ends.
        at_stop: Awaited when the web server of this process is told to stop.
    """

    def __init__(
        self, *, ping_seconds: float, write_timeout: float, at_stop: Callable[[], Awaitable[None]]
    ) -> None:
        if ping_seconds <= 0:
            raise ValueError(f"ping_seconds must be above 0, not {ping_seconds!r}")
        self._ping_seconds = ping_seconds
        self._write_timeout = write_timeout
        self._at_stop = at_stop
        self._open: set[EventStream] = set()
        self._calls = 0
        self._running: asyncio.Task[None] | None = None
        self.closed = False

    @contextlib.contextmanager
    def call(self) -> Generator[None]:
        """Look out for the end of the process while this lasts."""
        self._calls += 1
        self._run()
        try:
            yield
        finally:
            self._calls -= 1

    def add(self, stream: "EventStream") -> None:
        """Ping a stream from now on."""
        self._open.add(stream)
        self._run()

    def discard(self, stream: "EventStream") -> None:
        """Leave a stream alone."""
        self._open.discard(stream)

    def close(self) -> None:
        """End every stream, without a terminal event, and those that are still to come."""
        self.closed = True
        for stream in self._open:
            stream.end()

    def _run(self) -> None:
        if not self.closed and (self._running is None or self._running.done()):
            self._running = asyncio.create_task(self._attend())

    async def _attend(self) -> None:
        while not self.closed and (self._calls or self._open):
            shortest = min(self._ping_seconds, self._write_timeout)
            await asyncio.sleep(min(_TICK_SECONDS, shortest / 4))
            if _web_server_stops():
                self.close()
                await self._at_stop()
            await self._ping_silent()

    async def _ping_silent(self) -> None:
        """Ping streams that were silent, some at a time: others need the event loop as well."""
        now = time.monotonic()
        pinged = 0
        for stream in list(self._open):
            if now - stream.writing_since >= self._write_timeout:
                stream.cut()
            elif now - stream.last_sent >= self._ping_seconds:
                stream.ping()
                pinged += 1
                if pinged % _PINGS_AT_ONCE == 0:
                    await asyncio.sleep(0)


class EventStream(Response):
    """One response of server-sent events.

    A web server waits for its responses before it stops, and a client that still listens would keep
    it waiting: so the end of a stream can come from outside, by `end`.

    Args:
        events: The bytes to send.
        streams: All open streams of the app.

    Attributes:
        leaving: Done when the client has left; set before the response is sent.
    """

    def __init__(self, events: AsyncIterable[bytes], streams: EventStreams) -> None:
        # Not the base's: it would make headers of a body that is none.
        self.status_code = 200
        self.raw_headers = list(_HEADERS)
        self.events = events
        self.leaving: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.last_sent = time.monotonic()
        self.writing_since = math.inf
        self._was_cut = False
        self._streams = streams
        self._sending: asyncio.Task[None] | None = None
        self._pinging: asyncio.Task[None] | None = None
        self._send: Send | None = None

    def end(self) -> None:
        """Stop sending events and finish the response."""
        if self._sending is not None:
            self._sending.cancel()

    def cut(self) -> None:
        """End the stream of a client that takes nothing, not even an end."""
        self._was_cut = True
        self.end()

    def ping(self) -> None:
        """Send a comment line, unless the one before is still stuck in a slow client's socket."""
        if self._send is not None and (self._pinging is None or self._pinging.done()):
            self.last_sent = time.monotonic()
            self._pinging = asyncio.ensure_future(self._write(self._send, _PING))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        client_left = False
        try:
            if scope["method"] != "HEAD" and not self._streams.closed:
                client_left = await self._run(send)
        finally:
            self.leaving.cancel()
            await _close(self.events)
        if self._was_cut:
            await _cut_off(send)
        elif not client_left:
            await _body(send, b"", more=False)

    async def _run(self, send: Send) -> bool:
        """Send events until they end, `end` is called, or the client leaves (then True)."""
        self._send = send
        sending = self._sending = asyncio.ensure_future(self._send_events(send))
        self._streams.add(self)
        try:
            await asyncio.wait({sending, self.leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._streams.discard(self)
            self._send = None
            client_left = self.leaving.done()
            tasks = [task for task in (sending, self._pinging) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if not sending.cancelled():
            sending.result()
        return client_left

    async def _send_events(self, send: Send) -> None:
        async for event in self.events:
            await self._write(send, event)
            # A web server takes what its client can take without a pause, and so may a log give it.
            await asyncio.sleep(0)

    async def _write(self, send: Send, chunk: bytes) -> None:
        """Write, which takes as long as the client lets it."""
        self.writing_since = min(self.writing_since, time.monotonic())
        await _body(send, chunk)
        self.last_sent = time.monotonic()
        self.writing_since = math.inf


async def _close(events: AsyncIterable[bytes]) -> None:
    """End what makes events, as far as it can be ended."""
    aclose = getattr(events, "aclose", None)
    if aclose is not None:
        await aclose()


async def _body(send: Send, chunk: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": more})


def _web_server_stops() -> bool:
    """Whether the uvicorn of this process was told to stop; its signal handler leads to it."""
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return getattr(server, "should_exit", False) is True


async def _cut_off(send: Send) -> None:
    """Close the connection of a client that reads nothing, without what still waits to be sent.

    ASGI has no word for it: a response ends by a last write, and a connection that is closed waits
    until what was written has been sent. So the transport is asked, where the web server's own
    ``send`` leads to it, as uvicorn's does, within the middlewares of Starlette. Elsewhere the
    response is left unfinished, and the web server closes the connection as it does then.
    """
    layer: Any = send
    for _ in range(_MOST_LAYERS):
        abort = getattr(getattr(getattr(layer, "__self__", None), "transport", None), "abort", None)
        if abort is not None:
            abort()
            await asyncio.sleep(0)  # in which the web server learns of it
            return
        layer = _within(layer)


def _within(layer: Any) -> Any:
    """Return the ``send`` that a middleware's own one calls."""
    names: tuple[str, ...] = getattr(getattr(layer, "__code__", None), "co_freevars", ())
    cells: tuple[Any, ...] = getattr(layer, "__closure__", None) or ()
    inner = {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}
    return next((inner[name] for name in _SEND_NAMES if name in inner), None)
