"""One push notification as an HTTP request (A2A 1.0 section 4.3.3), and what its answer means."""

import asyncio
import json
import logging
import ssl
import time
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

import httpx
from a2a.types.a2a_pb2 import (
    Message,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskStatusUpdateEvent,
)

from a2a_temporal._log.protojson import StreamEvent, to_json
from a2a_temporal._net import Destination
from a2a_temporal._push_options import PushOptions
from a2a_temporal._worker.push_log import Notice, child_traceparent
from a2a_temporal.push import ID_HEADER, sign

MEDIA_TYPE = "application/a2a+json"
TOKEN_HEADER = "X-A2A-Notification-Token"

_GONE = 410
_SMALL_ANSWER = 16 * 1024
_GREAT = 999_999_999


_posting: ContextVar[bool] = ContextVar("a2a_push_posting", default=False)


def _is_not_ours(_: logging.LogRecord) -> bool:
    return not _posting.get()


# httpx logs every request with its URL, and a receiver's URL may hold a secret in path or query.
logging.getLogger("httpx").addFilter(_is_not_ours)


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


@dataclass
class Receiver:
    """The connection to one config's receiver, for one attempt.

    Connects to the address that was checked; the name goes into the Host header and into TLS, where
    the certificate must fit it. Redirects are answers like any other: not followed, not a success.
    """

    config: TaskPushNotificationConfig
    destination: Destination
    options: PushOptions
    client: httpx.AsyncClient

    async def tell(self, notice: Notice) -> None:
        """Post a notification.

        Raises:
            NotDeliveredError: It was not taken.
        """
        limit = self.options.timeout.total_seconds()
        try:
            answer = await asyncio.wait_for(self._post(notice), limit)
        except (httpx.TimeoutException, asyncio.TimeoutError):
            raise self._failure(f"did not answer within {limit:g} s") from None
        except httpx.ConnectError:
            raise self._failure("refused the connection") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise self._failure(f"broke the exchange off ({type(error).__name__})") from None
        if 200 <= answer.status_code < 300:
            return
        raise self._failure(
            f"answered {answer.status_code}",
            final=answer.status_code == _GONE,
            retry_after=_retry_after(answer),
        )

    async def _post(self, notice: Notice) -> httpx.Response:
        """Send to the first checked address that takes the connection; leave the body unread."""
        body = json.dumps(stream_response(notice.event), ensure_ascii=False).encode()
        headers = self._headers(body, notice)
        *others, last = self.destination.addresses
        for address in others:
            try:
                return await self._post_to(address, body, headers)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await self._post_to(last, body, headers)

    async def _post_to(self, address: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
        _posting.set(True)
        async with self.client.stream(
            "POST",
            self.destination.url_at(address),
            content=body,
            headers=headers,
            extensions={"sni_hostname": self.destination.host},
        ) as answer:
            if 0 <= _content_length(answer) <= _SMALL_ANSWER:
                # Read, though of no interest: the connection serves the next notification too.
                await answer.aread()
            return answer

    def _headers(self, body: bytes, notice: Notice) -> dict[str, str]:
        position = notice.position
        notification_id = f"{position.run_id}.{position.event_id}.{position.index}"
        headers = {
            "Host": self.destination.host_header,
            "Content-Type": MEDIA_TYPE,
            "A2A-Version": "1.0",
            "User-Agent": "a2a-temporal",
            "traceparent": child_traceparent(notice.traceparent),
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


def new_client(options: PushOptions) -> httpx.AsyncClient:
    """Return a client for one receiver: its connections are shared with no other host's."""
    return httpx.AsyncClient(
        verify=_tls(),
        follow_redirects=False,
        trust_env=False,
        timeout=options.timeout.total_seconds(),
        limits=httpx.Limits(max_connections=1),
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
    return httpx.create_ssl_context(trust_env=False)


def _content_length(answer: httpx.Response) -> int:
    return _number(answer.headers.get("content-length", ""))


def _retry_after(answer: httpx.Response) -> timedelta | None:
    seconds = _number(answer.headers.get("retry-after", ""))
    return None if seconds < 0 else timedelta(seconds=seconds)


def _number(text: str) -> int:
    """Return the number in a header, or a great one for a greater one; -1 when there is none."""
    if not (text.isascii() and text.isdigit()):
        return -1
    return int(text) if len(text) <= len(str(_GREAT)) else _GREAT
