"""Refuse a request body that is too large before it is in memory."""

import asyncio
import contextlib
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LINGER_BYTES = 64_000_000
_LINGER_SECONDS = 5.0


class BodyTooLargeError(Exception):
    """More bytes came than are accepted; never leaves `BodyLimit`."""


class BodyLimit:
    """Answers with 413 as soon as a body is known to be over the limit.

    A declared length is refused before a byte is read; a body of unknown length when the limit is
    passed.

    Args:
        app: The application.
        max_bytes: The largest body that is accepted.
        refuse: Makes the answer, given the path.
    """

    def __init__(self, app: ASGIApp, *, max_bytes: int, refuse: Callable[[str], Response]) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif _declared_length(scope) > self._max_bytes:
            await self._refuse_and_linger(scope, receive, send)
        else:
            await self._count(scope, receive, send)

    async def _refuse_and_linger(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, and let the client finish what it is sending, within bounds.

        Many clients read no answer before that, and a connection that is closed under them is all
        they would see.
        """

        async def unfinished_send(message: Message) -> None:
            body = message["type"] == "http.response.body"
            await send({**message, "more_body": True} if body else message)

        await self._refuse(scope["path"])(scope, receive, unfinished_send)
        if _declared_length(scope) <= _LINGER_BYTES:
            with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
                await asyncio.wait_for(_drain(receive), _LINGER_SECONDS)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _count(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = 0
        started = False

        def too_large() -> bool:
            return received > self._max_bytes

        async def counting_receive() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if too_large():
                raise BodyTooLargeError
            return message

        async def guarded_send(message: Message) -> None:
            nonlocal started
            # What the application makes of the exception is not sent: the refusal is ours.
            if started or not too_large():
                started = True
                await send(message)

        with contextlib.suppress(BodyTooLargeError):
            await self._app(scope, counting_receive, guarded_send)
        if too_large() and not started:
            await self._refuse(scope["path"])(scope, receive, send)


async def _drain(receive: Receive) -> None:
    while (await receive()).get("more_body"):
        pass


def _declared_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
