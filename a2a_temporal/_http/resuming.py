"""Open a resumed stream at once, even when nothing has happened since its cursor.

The SDK's dispatchers open a stream with its first event, so that a refusal can still be an answer
of its own. A subscription begins with the Task; a resumed one may have nothing to say for days.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable
from typing import Any, cast

from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response

from a2a_temporal._http.extensions import requested_extensions
from a2a_temporal._http.streams import SdkEvent, close, events_of
from a2a_temporal._server.resume import CURSOR_PARAMETER, LAST_EVENT_ID, URI

# What is refused is refused sooner: every bound of a call to Temporal is about this long.
_SECONDS_FOR_A_REFUSAL = 1.0

_METHODS = ("SubscribeToTask", "tasks/resubscribe")
_REST_SUBSCRIPTION = "/tasks/{id}:subscribe"


def resumes(request: Request, path: str) -> bool:
    """Say whether a request brings the cursor of a stream it wants to go on with.

    Args:
        request: Its JSON has been read, where that says which method is called.
        path: Of the route that it took.
    """
    has_cursor = CURSOR_PARAMETER in request.headers or LAST_EVENT_ID in request.headers
    return has_cursor and URI in requested_extensions(request) and _subscribes(request, path)


def _subscribes(request: Request, path: str) -> bool:
    if path.endswith(_REST_SUBSCRIPTION):
        return True
    body: Any = getattr(request.state, "json", None)
    return isinstance(body, dict) and cast("dict[str, Any]", body).get("method") in _METHODS


async def opened(answering: Awaitable[Response]) -> Response:
    """Return the answer, or, where it takes long, a stream that will be it."""
    answer = asyncio.ensure_future(answering)
    try:
        done, _ = await asyncio.wait({answer}, timeout=_SECONDS_FOR_A_REFUSAL)
    except asyncio.CancelledError:
        answer.cancel()
        raise
    return answer.result() if done else EventSourceResponse(_Events(answer))


class _Events:
    """The events of an answer that is still to come.

    No async generator: one that is closed before it was started does nothing, and a subscription
    whose request was only a HEAD would be read for nobody.
    """

    def __init__(self, answer: "asyncio.Future[Response]") -> None:
        self._answer = answer
        self._events: AsyncIterator[SdkEvent] | None = None

    def __aiter__(self) -> AsyncIterator[SdkEvent]:
        return self

    async def __anext__(self) -> SdkEvent:
        if self._events is None:
            self._events = aiter(_events_in(await self._answer))
        return await anext(self._events)

    async def aclose(self) -> None:
        """Wait for the answer no longer, and read nothing more of it."""
        self._answer.cancel()
        if self._events is not None:
            await close(self._events)


def _events_in(response: Response) -> AsyncIterable[SdkEvent]:
    return events_of(response) if isinstance(response, EventSourceResponse) else _refusal(response)


async def _refusal(response: Response) -> AsyncIterator[SdkEvent]:
    yield {"data": bytes(response.body).decode(), "event": "error"}
