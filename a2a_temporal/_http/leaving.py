"""Clients that leave before their answer: a web server tells, but cancels nothing.

What such a call waits for may never come (an answer of people, or of a worker that is not there),
so the waiting ends. What it was writing it may finish: a client may send a message and leave.
"""

import asyncio
import contextlib
from collections.abc import Awaitable

from starlette.responses import Response
from starlette.types import Receive

# Longer than a message takes on its way into a log, each step of which is bounded.
_SECONDS_TO_FINISH = 10.0

CLIENT_CLOSED_REQUEST = 499
"""Status of an answer that nobody reads."""


async def client_leaves(receive: Receive) -> None:
    """Return once the client has left; the body of its request must have been read.

    One call a request: some web servers take a second one, or one that was canceled, for the
    client's leaving. Middleware that shows a body again hides when a client leaves: then this never
    returns.
    """
    left = False
    with contextlib.suppress(Exception):  # a receive() that fails says nothing of the client
        left = (await receive())["type"] == "http.disconnect"
    if not left:
        await asyncio.Event().wait()


async def while_awaited(
    answering: Awaitable[Response], leaving: "asyncio.Future[None]"
) -> Response:
    """Return the answer; when its client leaves, it is canceled unless it comes soon.

    What was written into a task's log stays there.

    Args:
        answering: Makes the answer.
        leaving: Done when the client has left. It goes on to run.
    """
    answer = asyncio.ensure_future(answering)
    try:
        await asyncio.wait({answer, leaving}, return_when=asyncio.FIRST_COMPLETED)
        left = leaving.done()
        await asyncio.wait({answer}, timeout=_SECONDS_TO_FINISH if left else None)
    finally:
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)
    if left and answer.cancelled():
        return Response(status_code=CLIENT_CLOSED_REQUEST)
    return answer.result()
