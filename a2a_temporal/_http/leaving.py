"""Clients that leave before their answer: a web server tells, but cancels nothing.

What such a call waits for may never come (an answer of people, or of a worker that is not there),
so the waiting ends. What it was writing it may finish: a client may send a message and leave.
"""

import asyncio
from collections.abc import Awaitable

from starlette.responses import Response
from starlette.types import Receive

# Longer than a message takes on its way into a log, each step of which is bounded.
_SECONDS_TO_FINISH = 10.0
_CLIENT_CLOSED_REQUEST = 499


async def client_leaves(receive: Receive) -> None:
    """Return once the client has left; the body of its request must have been read.

    Middleware that shows a body again hides when a client leaves: then this never returns.
    """
    if (await receive())["type"] != "http.disconnect":
        await asyncio.Event().wait()


async def while_awaited(answering: Awaitable[Response], receive: Receive) -> Response:
    """Return the answer; when its client leaves, it is canceled unless it comes soon.

    What was written into a task's log stays there.
    """
    answer = asyncio.ensure_future(answering)
    leaving = asyncio.ensure_future(client_leaves(receive))
    try:
        await asyncio.wait({answer, leaving}, return_when=asyncio.FIRST_COMPLETED)
        left = _returned(leaving)
        await asyncio.wait({answer}, timeout=_SECONDS_TO_FINISH if left else None)
    finally:
        for task in (answer, leaving):
            task.cancel()
        await asyncio.gather(answer, leaving, return_exceptions=True)
    if left and answer.cancelled():
        return Response(status_code=_CLIENT_CLOSED_REQUEST)
    return answer.result()


def _returned(leaving: "asyncio.Future[None]") -> bool:
    """Say whether it is known that the client has left; a receive() that fails tells nothing."""
    return leaving.done() and not leaving.cancelled() and leaving.exception() is None
