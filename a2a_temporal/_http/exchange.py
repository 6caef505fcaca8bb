"""One request and its answer, in every binding and version.

A body is read and parsed once, before anything else. The answer gets the headers that all have, and
ends with its client: a web server says that a client has left, but cancels nothing.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from a2a.compat.v0_3.extension_headers import LEGACY_HTTP_EXTENSION_HEADER
from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.jsonrpc_models import JSONParseError, JSONRPCError
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.types import AgentCard
from a2a.utils.error_handlers import build_rest_error_payload, rest_error_handler
from a2a.utils.errors import A2AError, InvalidRequestError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.status import HTTP_503_SERVICE_UNAVAILABLE
from starlette.types import Receive

from a2a_temporal._http.bodies import NOT_JSON, as_object, load_once, parsed
from a2a_temporal._http.limits import CLIENT_CLOSED_REQUEST
from a2a_temporal._http.streams import EventStream, EventStreams
from a2a_temporal._server.resume import CURSOR_PARAMETER, LAST_EVENT_ID, URI

Endpoint = Callable[[Request, Any], Awaitable[Response]]
"""Answers a request whose JSON has been parsed."""

# Longer than a message takes on its way into a log, each step of which is bounded.
_SECONDS_TO_FINISH = 10.0
# What is refused is refused sooner: every bound of a call to Temporal is about this long.
_SECONDS_FOR_A_REFUSAL = 1.0
_RETRY_AFTER_SECONDS = "1"


@dataclass(frozen=True)
class Exchange:
    """Makes routes of endpoints.

    Attributes:
        streams: All open streams of the app.
        card: Declares the extensions that can be active.
        most_values: The largest number of values that a body may hold.
    """

    streams: EventStreams
    card: AgentCard
    most_values: int

    def json_rpc(self, path: str, endpoint: Endpoint) -> Route:
        """Return a route whose errors are those of JSON-RPC."""

        async def answer(request: Request) -> Response:
            body = await request.body()
            try:
                value, refusal = parsed(body, self.most_values)
            except ValueError:
                return rpc_error(None, JSONParseError(message=NOT_JSON))
            if refusal is not None:
                return rpc_error(id_of(value), refusal)
            return await self._answer(request, endpoint(request, value))

        return Route(path, answer, methods=["POST"])

    def rest(self, path: str, endpoint: Endpoint, *, method: str) -> Route:
        """Return a route whose errors are those of REST."""
        answered = rest_error_handler(endpoint)

        async def answer(request: Request) -> Response:
            body = await request.body()
            value, refusal = None, None
            try:
                if body:
                    value, refusal = parsed(body, self.most_values, load_once)
            except ValueError:
                refusal = InvalidRequestError(message=NOT_JSON)
            if refusal is not None:
                return JSONResponse(build_rest_error_payload(refusal), status_code=400)
            return await self._answer(request, answered(request, value))

        return Route(path, answer, methods=[method])

    async def _answer(self, request: Request, answering: Awaitable[Response]) -> Response:
        leaving = asyncio.ensure_future(_client_leaves(request.receive))
        try:
            with self.streams.call():
                response = await _while_awaited(answering, leaving)
        except BaseException:
            leaving.cancel()
            raise
        if isinstance(response, EventStream):
            response.leaving = leaving
        else:
            leaving.cancel()
        active = active_extensions(requested_extensions(request), self.card)
        if active:  # A2A 1.0 section 4.6.2
            response.headers[HTTP_EXTENSION_HEADER] = ", ".join(active)
        if response.status_code == HTTP_503_SERVICE_UNAVAILABLE:
            response.headers.setdefault("Retry-After", _RETRY_AFTER_SECONDS)
        return response


def rpc_error(request_id: str | int | None, error: A2AError | JSONRPCError) -> Response:
    """Return the answer of JSON-RPC that refuses a call."""
    return JSONResponse(build_error_response(request_id, error))


def id_of(call: Any) -> str | int | None:
    """Return the id of a JSON-RPC call, if it has one that an answer may repeat."""
    request_id = as_object(call).get("id")
    usable = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    return request_id if usable else None


# -------------------------------------------------------------- extensions


def requested_extensions(request: Request) -> set[str]:
    """Return what a request asks for, under the header's present name or its former one."""
    names = (HTTP_EXTENSION_HEADER, LEGACY_HTTP_EXTENSION_HEADER)
    return get_requested_extensions([each for n in names for each in request.headers.getlist(n)])


def active_extensions(requested: set[str], card: AgentCard) -> list[str]:
    """Return the requested extensions that the card declares."""
    declared = {extension.uri for extension in card.capabilities.extensions}
    return sorted(declared & requested)


# ----------------------------------------------------- clients that leave


async def _client_leaves(receive: Receive) -> None:
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


async def _while_awaited(
    answering: Awaitable[Response], leaving: "asyncio.Future[None]"
) -> Response:
    """Return the answer; when its client leaves, it is canceled unless it comes soon.

    What a call waits for may never come: the answer of a person, or of a worker that is not there.
    What it was writing into a task's log it may finish, as a client may send a message and leave.
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


# --------------------------------------------------------- resumed streams


def resumes(request: Request) -> bool:
    """Say whether a subscription brings the cursor of a stream it wants to go on with."""
    has_cursor = CURSOR_PARAMETER in request.headers or LAST_EVENT_ID in request.headers
    return has_cursor and URI in requested_extensions(request)


async def opened(answering: Awaitable[Response], streams: EventStreams) -> Response:
    """Return the answer of a subscription, or, where it takes long, a stream that will be it.

    A stream is opened with its first event, so that a refusal can still be an answer of its own. A
    subscription begins with the Task; a resumed one may have nothing to say for days.
    """
    answer = asyncio.ensure_future(answering)
    try:
        done, _ = await asyncio.wait({answer}, timeout=_SECONDS_FOR_A_REFUSAL)
    except asyncio.CancelledError:
        answer.cancel()
        raise
    return answer.result() if done else EventStream(_Events(answer), streams)


class _Events:
    """The events of an answer that is still to come.

    No async generator: one that is closed before it was started does nothing, and a subscription
    whose request was only a HEAD would be read for nobody.
    """

    def __init__(self, answer: "asyncio.Future[Response]") -> None:
        self._answer = answer
        self._events: AsyncIterator[bytes] | None = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._events is None:
            response = await self._answer
            streamed = isinstance(response, EventStream)
            self._events = aiter(response.events if streamed else _refusal(response))
        return await anext(self._events)

    async def aclose(self) -> None:
        """Wait for the answer no longer, and read nothing more of it."""
        self._answer.cancel()
        aclose = getattr(self._events, "aclose", None)
        if aclose is not None:
            await aclose()


async def _refusal(response: Response) -> AsyncIterator[bytes]:
    yield b"event: error\r\ndata: " + bytes(response.body) + b"\r\n\r\n"
