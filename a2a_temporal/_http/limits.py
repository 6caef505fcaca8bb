"""Refuse a request body that is too large before it is in memory."""

import asyncio
import contextlib
import logging
from collections.abc import Callable

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)

_LINGER_BYTES = 64_000_000
_LINGER_SECONDS = 5.0
_RECEIVE = "a2a_temporal.receive"


CLIENT_CLOSED_REQUEST = 499
"""Status of an answer that nobody reads."""


class BodyTooLargeError(Exception):
    """More bytes came than are accepted; never leaves `BodyLimit`."""


Refuse = Callable[[str], Response]
"""Makes the answer to a body that is too large, given the path within the app."""


class BodyLimit:
    """Stands before all middleware, and lets nothing read more than the limit.

    Args:
        app: The application; `BodyRefusal` stands in it behind the middleware.
        max_bytes: The largest body that is accepted.
        refuse: Answers where middleware has read the body.
    """

    def __init__(self, app: ASGIApp, *, max_bytes: int, refuse: Refuse) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        received = 0
        started = False

        async def counting_receive() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                raise BodyTooLargeError
            return message

        async def noting_send(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app({**scope, _RECEIVE: receive}, counting_receive, noting_send)
        except BodyTooLargeError:
            if not started:
                await self._refuse(path_within(scope))(scope, receive, send)


class BodyRefusal:
    """Stands behind all middleware, so that its answers get the headers that middleware sets.

    It answers with 413 as soon as a body is known to be over the limit: a declared length is
    refused before a byte is read, a body of unknown length when the limit is passed. A client that
    leaves before its body has come is not the server's error.

    Args:
        app: The application.
        max_bytes: The largest body that is accepted.
        refuse: Makes the answer.
    """

    def __init__(self, app: ASGIApp, *, max_bytes: int, refuse: Refuse) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif _declared_length(scope) > self._max_bytes:
            await self._refuse_and_linger(scope, send)
        else:
            await self._guard(scope, receive, send)

    async def _refuse_and_linger(self, scope: Scope, send: Send) -> None:
        """Refuse, and let the client finish what it is sending, within bounds.

        Many clients read no answer before that, and a connection that is closed under them is all
        they would see.
        """
        receive: Receive = scope[_RECEIVE]

        async def unfinished_send(message: Message) -> None:
            body = message["type"] == "http.response.body"
            await send({**message, "more_body": True} if body else message)

        await self._refuse(path_within(scope))(scope, receive, unfinished_send)
        if _declared_length(scope) <= _LINGER_BYTES:
            with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
                await asyncio.wait_for(_drain(receive), _LINGER_SECONDS)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        too_large = started = False

        async def noting_receive() -> Message:
            nonlocal too_large
            try:
                return await receive()
            except BodyTooLargeError:
                too_large = True
                raise

        async def guarded_send(message: Message) -> None:
            nonlocal started
            # What the application makes of the exception is not sent: the refusal is ours.
            if started or not too_large:
                started = True
                await send(message)

        try:
            await self._app(scope, noting_receive, guarded_send)
        except BodyTooLargeError:
            pass
        except ClientDisconnect:
            logger.debug("The client left before the body of its request had come.")
            if not started:
                await Response(status_code=CLIENT_CLOSED_REQUEST)(scope, receive, send)
        if too_large and not started:
            await self._refuse(path_within(scope))(scope, receive, send)


def path_within(scope: Scope) -> str:
    """Return the path within the app, which may be mounted into another.

    By it a request finds its route. The path of its URL may be another one: that is made of the
    Host header as well.
    """
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


async def _drain(receive: Receive) -> None:
    while (await receive()).get("more_body"):
        pass


def _declared_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
