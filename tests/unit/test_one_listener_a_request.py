"""A web server is asked for the end of a request once, by one listener, until the answer ends."""

import asyncio
import json
from typing import Any

import pytest
from starlette.types import ASGIApp, Message

from tests.support.calls import send_params
from tests.support.stub_handler import stub_app
from tests.support.waiting import eventually

CALLS = [
    pytest.param("/", {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage"}, id="JSON-RPC"),
    pytest.param("/message:stream", None, id="REST"),
]


class StrictServer:
    """One request of a web server that takes a second listener, or a lost one, for the end.

    So does gunicorn's own ASGI worker; the specification of ASGI allows it.
    """

    def __init__(self, path: str, body: bytes) -> None:
        self.sent: list[Message] = []
        self.left = asyncio.Event()
        self.faults: list[str] = []
        self._body: bytes | None = body
        self._listening = False
        self._scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [(b"a2a-version", b"1.0"), (b"content-type", b"application/json")],
        }

    async def run(self, app: ASGIApp) -> None:
        await app(self._scope, self._receive, self._send)

    @property
    def answered(self) -> bool:
        return any(not message.get("more_body", True) for message in self.sent)

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.sent).decode()

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        if self._listening:
            self.faults.append("two listeners at once")
        self._listening = True
        try:
            await self.left.wait()
        except asyncio.CancelledError:
            if not self.answered:
                self.faults.append("a listener was lost before the answer had ended")
            raise
        finally:
            self._listening = False
        return {"type": "http.disconnect"}


@pytest.mark.parametrize(("path", "envelope"), CALLS)
async def test_a_stream_has_one_listener_to_its_end(path: str, envelope: dict[str, Any]) -> None:
    params = send_params("silent")
    body = {**envelope, "params": params} if envelope else params
    server = StrictServer(path, json.dumps(body).encode())
    answering = asyncio.create_task(server.run(await stub_app(ping_seconds=0.2)))
    await eventually(lambda: server.text.count(": ping") >= 2, within=30, what="pings")
    assert not server.faults
    server.left.set()
    await asyncio.wait_for(answering, 30)


async def test_a_stream_ends_with_its_last_event() -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage"}
    server = StrictServer("/", json.dumps({**body, "params": send_params("done")}).encode())
    await asyncio.wait_for(server.run(await stub_app()), 30)
    assert server.answered
    assert server.text.count("data: ") == 2
    assert not server.faults
