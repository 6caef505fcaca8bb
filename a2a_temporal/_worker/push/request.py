"""One push notification as an HTTP request (A2A 1.0 section 4.3.3), and what its answer means.

A receiver belongs to a client, so its answer may be hostile. Of an answer counts its status and
``Retry-After``; the rest is never unpacked, and only a few kilobytes of it are read.
"""

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, cast

import httpcore
from a2a.types.a2a_pb2 import (
    Message,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskStatusUpdateEvent,
)

from a2a_temporal._log.protojson import StreamEvent, to_json
from a2a_temporal._net import Destination, UrlGuard, UrlRefusedError
from a2a_temporal._push_options import PushOptions
from a2a_temporal._worker.push.notifications import Notification, child_traceparent
from a2a_temporal.push import ID_HEADER, sign

MEDIA_TYPE = "application/a2a+json"
TOKEN_HEADER = "X-A2A-Notification-Token"

_GONE = 410
_GREAT = 999_999_999

_LONGEST_ANSWER = 64 * 1024
# The event loop gets its turn between two reads, so one of them must not hold many responses.
_LONGEST_READ = 4 * 1024
_REST_SECONDS = 1.0


class NotDeliveredError(Exception):
    """A receiver did not take a notification; the text may be shown and logged.

    Args:
        text: Host and reason; neither path nor credentials.
        final: No further attempt is of use.
        retry_after: The pause the receiver asks for.
    """

    def __init__(
        self, text: str, *, final: bool = False, retry_after: timedelta | None = None
    ) -> None:
        super().__init__(text)
        self.final = final
        self.retry_after = retry_after


class _TooLongError(Exception):
    """A receiver has answered with more than is read."""


class _BoundedStream(httpcore.AsyncNetworkStream):
    """A connection of which little is read: ``_LONGEST_ANSWER`` bytes after each write at most."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._left = _LONGEST_ANSWER

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._left <= 0:
            raise _TooLongError
        data = await self._stream.read(min(max_bytes, _LONGEST_READ, self._left), timeout)
        self._left -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._left = _LONGEST_ANSWER
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            encrypted = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except asyncio.CancelledError:  # httpcore closes the connection in all other cases
            await self._stream.aclose()
            raise
        return _BoundedStream(encrypted)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _CheckedAddresses(httpcore.AsyncNetworkBackend):
    """Connects to the first checked address that takes the connection, whatever the name says."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses
        self._network = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failure: Exception = httpcore.ConnectError()
        for address in self._addresses:
            try:
                return _BoundedStream(await self._network.connect_tcp(address, port, timeout))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


@dataclass
class Receiver:
    """The connection to one config's receiver, for one attempt.

    Connects to the address that was checked; the name goes into the Host header and into TLS, where
    the certificate must fit it. Redirects are answers like any other: not followed, not a success.
    """

    config: TaskPushNotificationConfig
    destination: Destination
    options: PushOptions
    connection: httpcore.AsyncConnectionPool

    async def send(self, notification: Notification) -> None:
        """Post a notification.

        Raises:
            NotDeliveredError: It was not taken.
        """
        limit = self.options.timeout.total_seconds()
        try:
            status, retry_after = await self._post(notification, limit)
        except (httpcore.TimeoutException, asyncio.TimeoutError):
            raise self._failure(f"did not answer within {limit:g} s") from None
        except httpcore.ConnectError:
            raise self._failure("refused the connection") from None
        except _TooLongError:
            raise self._failure(f"sent more than {_LONGEST_ANSWER} bytes of headers") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise self._failure(f"broke the exchange off ({type(error).__name__})") from None
        if not 200 <= status < 300:
            final = status == _GONE
            raise self._failure(f"answered {status}", final=final, retry_after=retry_after)

    async def _post(self, notification: Notification, limit: float) -> tuple[int, timedelta | None]:
        """Return the status of the answer, and the pause it asks for."""
        destination = self.destination
        body = json.dumps(stream_response(notification.event), ensure_ascii=False).encode()
        request = httpcore.Request(
            "POST",
            httpcore.URL(
                scheme=destination.scheme,
                host=destination.host,
                port=destination.port,
                target=destination.target,
            ),
            headers=list(self._headers(body, notification).items()),
            content=body,
            extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), limit)},
        )
        answer = await asyncio.wait_for(self.connection.handle_async_request(request), limit)
        try:
            await _read_rest(answer)
        finally:
            await answer.aclose()
        return answer.status, _retry_after(answer)

    def _headers(self, body: bytes, notification: Notification) -> dict[str, str]:
        position = notification.position
        notification_id = str(position)
        headers = {
            "Host": self.destination.host_header,
            "Content-Type": MEDIA_TYPE,
            "Content-Length": str(len(body)),
            "Accept-Encoding": "identity",
            "A2A-Version": "1.0",
            "User-Agent": "a2a-temporal",
            "traceparent": child_traceparent(notification.traceparent),
            ID_HEADER: notification_id,
        }
        authentication = self.config.authentication
        if authentication.scheme and authentication.credentials:
            headers["Authorization"] = f"{authentication.scheme} {authentication.credentials}"
        if self.config.token:
            headers[TOKEN_HEADER] = self.config.token
        if self.options.signing_keys:
            headers |= sign(
                body,
                notification_id=notification_id,
                at=int(time.time()),
                keys=self.options.signing_keys,
            )
        return headers

    def _failure(
        self, what: str, *, final: bool = False, retry_after: timedelta | None = None
    ) -> NotDeliveredError:
        text = f"{self.destination.host} {what}"
        return NotDeliveredError(text, final=final, retry_after=retry_after)


@contextlib.asynccontextmanager
async def connected(
    config: TaskPushNotificationConfig, guard: UrlGuard, options: PushOptions
) -> AsyncGenerator[Receiver]:
    """Check where a config leads to, and keep a connection to there.

    Raises:
        NotDeliveredError: Nothing may be sent there; the text is for operators.
    """
    try:
        destination = await guard.check(config.url)
    except UrlRefusedError as refusal:
        why = f" ({refusal.__cause__})" if refusal.__cause__ else ""
        raise NotDeliveredError(f"not sent: {refusal}{why}") from refusal
    async with new_connection(destination) as connection:
        yield Receiver(config, destination, options, connection)


def new_connection(
    destination: Destination, *, tls: ssl.SSLContext | None = None
) -> httpcore.AsyncConnectionPool:
    """Return what makes one connection to a receiver at a time, and shares it with no other.

    Args:
        destination: The checked URL.
        tls: What certificates to trust; the usual ones when None.
    """
    return httpcore.AsyncConnectionPool(
        ssl_context=tls or (_tls() if destination.scheme == "https" else None),
        max_connections=1,
        network_backend=_CheckedAddresses(destination.addresses),
    )


def stream_response(event: StreamEvent) -> dict[str, object]:
    """Return the payload: a StreamResponse with exactly one member."""
    response = StreamResponse()
    match event:
        case TaskStatusUpdateEvent():
            response.status_update.CopyFrom(event)
        case TaskArtifactUpdateEvent():
            response.artifact_update.CopyFrom(event)
        case Message():
            response.message.CopyFrom(event)
        case Task():
            response.task.CopyFrom(event)
    return to_json(response)


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Load the certificates once; that takes longer than a delivery."""
    return httpcore.default_ssl_context()


async def _read_rest(answer: httpcore.Response) -> None:
    """Read the rest of an answer, if it is short: the connection then serves again.

    What comes there, or does not come, changes nothing of the answer.
    """

    async def read() -> None:
        async for _ in answer.aiter_stream():
            pass

    with contextlib.suppress(
        asyncio.TimeoutError,
        _TooLongError,
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
    ):
        await asyncio.wait_for(read(), _REST_SECONDS)


def _retry_after(answer: httpcore.Response) -> timedelta | None:
    for name, value in answer.headers:
        if name.lower() == b"retry-after" and (seconds := _number(value.decode("latin-1"))) >= 0:
            return timedelta(seconds=seconds)
    return None


def _number(text: str) -> int:
    """Return the number in a header, or a great one for a greater one; -1 when there is none."""
    if not (text.isascii() and text.isdigit()):
        return -1
    return int(text) if len(text) <= len(str(_GREAT)) else _GREAT
