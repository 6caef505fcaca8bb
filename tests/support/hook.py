"""HOOK: a receiver of push notifications on a real socket, which does what a test tells it to.

It records every request it gets and can answer late, with any status, with a redirect, or never;
while it is down its port refuses connections.
"""

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.processes import free_port
from tests.support.results import Json
from tests.support.waiting import eventually


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Json:
        """The body."""
        parsed: Json = json.loads(self.body)
        return parsed

    @property
    def kind(self) -> str:
        """The one member of the StreamResponse."""
        (kind,) = self.json
        return kind

    @property
    def state(self) -> str:
        """The state the notification tells, without prefix; empty when it tells none."""
        event: Json = self.json[self.kind]
        return str(event.get("status", {}).get("state", "")).removeprefix("TASK_STATE_")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What to do with a request; `status=None` never answers."""

    status: int | None = 200
    delay: float = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


TAKEN = Answer()
NEVER = Answer(status=None)

Script = Callable[[Received], Answer]


class Hook:
    """One receiver. `script` decides what becomes of each request; by default it is taken."""

    def __init__(self) -> None:
        self.port = free_port()
        self.script: Script = lambda _: TAKEN
        self.seen: list[Received] = []
        self.taken: list[Received] = []
        self.most_at_once = 0
        self._at_once = 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """A URL of this receiver."""
        return f"http://127.0.0.1:{self.port}/hook"

    def config(self, **fields: Any) -> Json:
        """A push notification config that names this receiver."""
        return {"url": self.url, **fields}

    def states(self) -> list[str]:
        """The states that were told and taken, in order of arrival."""
        return [received.state for received in self.taken if received.state]

    async def told(self, state: str, *, within: float = 20) -> Received:
        """Wait until a state has been told and taken."""

        def look() -> Received | None:
            return next((each for each in self.taken if each.state == state), None)

        return await eventually(look, within=within, what=f"{state} at the hook ({self.states()})")

    async def asked(self, number: int, *, within: float = 20) -> None:
        """Wait until there have been so many requests, taken or not."""
        await eventually(
            lambda: len(self.seen) >= number, within=within, what=f"{number} requests at the hook"
        )

    async def up(self, *, tls: ssl.SSLContext | None = None) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, ssl=tls)

    async def down(self) -> None:
        """Refuse connections and drop those that are open."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        try:
            while await self._serve(reader, writer):
                pass
        except (asyncio.CancelledError, asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._connections.discard(connection)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request, *lines = head.split("\r\n")
        method, path, _ = request.split(" ")
        fields = (line.partition(":") for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        received = Received(
            method=method, path=path, headers=headers, body=body, at=time.monotonic()
        )
        self.seen.append(received)
        answer = self.script(received)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if answer.status is None:
                await reader.read()  # until the other side gives up
                return False
            await asyncio.sleep(answer.delay)
        finally:
            self._at_once -= 1
        if 200 <= answer.status < 300:
            self.taken.append(received)
        written = {"content-length": str(len(answer.body)), **answer.headers}
        text = "".join(f"{name}: {value}\r\n" for name, value in written.items())
        writer.write(f"HTTP/1.1 {answer.status} Scripted\r\n{text}\r\n".encode() + answer.body)
        await writer.drain()
        return True


@asynccontextmanager
async def hook(*, up: bool = True) -> AsyncGenerator[Hook]:
    """Run a receiver for as long as the block lasts."""
    receiver = Hook()
    if up:
        await receiver.up()
    try:
        yield receiver
    finally:
        await receiver.down()
