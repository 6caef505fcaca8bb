"""Open a resumed stream at once, even when nothing has happened since its cursor.

The SDK's dispatchers open a stream with its first event, so that a refusal can still be an answer
of its own. A subscription begins with the Task; a resumed one may have nothing to say for days.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable

from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response

from a2a_temporal._http.extensions import requested_extensions
from a2a_temporal._http.streams import SdkEvent, events_of
from a2a_temporal._server.resume import CURSOR_PARAMETER, LAST_EVENT_ID, URI

# What is refused is refused sooner: every bound of a call to Temporal is about this long.
_SECONDS_FOR_A_REFUSAL = 1.0


def resumes(request: Request) -> bool:
    """Say whether a request brings the cursor of a stream it wants to go on with."""
    has_cursor = CURSOR_PARAMETER in request.headers or LAST_EVENT_ID in request.headers
    return has_cursor and URI in requested_extensions(request)


async def opened(answering: Awaitable[Response]) -> Response:
    """Return the answer, or, where it takes long, a stream that will be it."""
    answer = asyncio.ensure_future(answering)
    try:
        done, _ = await asyncio.wait({answer}, timeout=_SECONDS_FOR_A_REFUSAL)
    except asyncio.CancelledError:
        answer.cancel()
        raise
    return answer.result() if done else EventSourceResponse(_events(answer))


async def _events(answer: "asyncio.Future[Response]") -> AsyncGenerator[SdkEvent]:
    try:
        response = await answer
        if not isinstance(response, EventSourceResponse):
            yield {"data": bytes(response.body).decode(), "event": "error"}
            return
        async for event in events_of(response):
            yield event
    finally:
        answer.cancel()
