"""The ASGI application of a server: agent card, JSON-RPC, REST and probes around one handler.

    request → body limit → your middleware → 413 → route → SDK dispatcher → handler

Order matters: the SDK's REST routes end in ``/{tenant}``, which swallows every longer path behind.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.types import AgentCard
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import A2AError, InvalidParamsError, InvalidRequestError
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.status import HTTP_503_SERVICE_UNAVAILABLE
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.service import RPCError

from a2a_temporal._connect import check_namespace
from a2a_temporal._http.calls import CallContextBuilder
from a2a_temporal._http.cards import PublicCard
from a2a_temporal._http.extended_card import refuse_anonymous, showing
from a2a_temporal._http.extensions import active_extensions, echo, requested_extensions
from a2a_temporal._http.health import Health
from a2a_temporal._http.jsonrpc import JsonRpc
from a2a_temporal._http.leaving import client_leaves, while_awaited
from a2a_temporal._http.limits import BodyLimit, BodyRefusal
from a2a_temporal._http.rest import Rest
from a2a_temporal._http.resuming import opened, resumes
from a2a_temporal._http.streams import EventStreams
from a2a_temporal._http.texts import NO_TEXT, is_text, with_whole_numbers
from a2a_temporal._http.v0_3 import JsonRpcV03, rest_routes
from a2a_temporal._http.values import LARGEST_PARSED, id_of, load_once, too_many_values
from a2a_temporal._server.handler import TemporalRequestHandler
from a2a_temporal._server.resume import URI as RESUMABLE_STREAMS
from a2a_temporal.errors import ConnectionSettingsError, TemporalUnreachableError

logger = logging.getLogger(__name__)

DEFAULT_MAX_BODY_BYTES = 10 * 1024 * 1024

_PARSE_ERROR, _INVALID_REQUEST, _INVALID_PARAMS = -32700, -32600, -32602
_FIRST_START_SECONDS = 3.0
_LONGEST_PAUSE_SECONDS = 15.0
_SETTLE_SECONDS = 0.2
_WORKERS_SECONDS = 5.0
_RETRY_AFTER_SECONDS = "1"

Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(
    handler: TemporalRequestHandler,
    *,
    middleware: Sequence[Middleware] = (),
    context_builder: ServerCallContextBuilder | None = None,
    routes: Sequence[BaseRoute] = (),
    rpc_path: str = "/",
    rest_prefix: str = "",
    enable_v0_3: bool = True,
    enable_v1_1: bool = False,
    ping_seconds: float = 3,
    trust_forwarded: bool = False,
    cache_control: str | None = "public, max-age=60",
    max_body_bytes: int = DEFAULT_MAX_BODY_BYTES,
) -> Starlette:
    """Build the application that serves a handler over JSON-RPC and REST.

    Its lifespan starts and closes the handler. Temporal need not be up: the card is served, and
    ``/readyz`` says no, until it is. When the process is told to stop, open streams end without a
    terminal event and clients resubscribe at another replica.

    It may be mounted into another app, which runs no lifespan but its own: the first call then
    starts the handler, and the end of a uvicorn process is seen all the same.

    Args:
        handler: The handler; its card is served at both well-known paths.
        middleware: Starlette middleware, for example one that authenticates.
        context_builder: Makes the user and tenant of a call; the SDK's builder when None.
        routes: Your own routes. Routes that are added to the app later are never reached.
        rpc_path: Path of the JSON-RPC endpoint.
        rest_prefix: Path under which the REST routes stand.
        enable_v0_3: Serve the methods of protocol version 0.3 as well.
        enable_v1_1: Serve a call that says version 1.1 as one of 1.0; otherwise it is refused.
        ping_seconds: A silent stream gets a comment line this often; the official client gives up
            after 5 s of silence.
        trust_forwarded: Take the URLs in the cards from the X-Forwarded-Proto, -Host, -Port and
            -Prefix headers. Only behind a proxy that sets or removes them.
        cache_control: Cache-Control of the card; None sends none.
        max_body_bytes: A larger request body is answered with 413.
    """
    streams = EventStreams(
        ping_seconds=ping_seconds,
        write_timeout=handler.options.stream_write_timeout.total_seconds(),
        at_stop=handler.aclose,
    )
    most = handler.options.maximum_message_values
    builder = CallContextBuilder(context_builder, enable_v0_3=enable_v0_3, enable_v1_1=enable_v1_1)
    card = PublicCard(
        handler.agent_card,
        enable_v0_3=enable_v0_3,
        trust_forwarded=trust_forwarded,
        cache_control=cache_control,
        signer=handler.options.card_signer,
    )
    masked = showing(handler, card)
    rpc_routes = create_jsonrpc_routes(masked, rpc_path, builder)
    json_rpc, rest = JsonRpc(handler, builder), Rest(handler, builder)
    rpc_routes = [json_rpc.beside(route) for route in rpc_routes]
    sdk_rest_routes = [rest.beside(route) for route in create_rest_routes(masked, builder)]
    if enable_v0_3:
        v0_3 = JsonRpcV03(masked, builder)
        rpc_routes = [v0_3.beside(route) for route in rpc_routes]
        sdk_rest_routes = [*rest_routes(masked, builder), *sdk_rest_routes]
    answering = _Answering(streams, handler.agent_card, builder)
    served_rest = [answering.by(_decoded(route, most)) for route in sdk_rest_routes]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        tried = asyncio.Event()
        starting = asyncio.create_task(_start(handler, tried))
        # With Temporal up, the first request finds the handler started; without it, nobody waits.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(tried.wait(), _FIRST_START_SECONDS)
        try:
            with streams.call():
                yield
        finally:
            streams.close()
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            await handler.aclose()
            # Long polls were cancelled: their native threads need a moment before the process may
            # end, or it hangs in the end of the interpreter.
            await asyncio.sleep(_SETTLE_SECONDS)

    refuse = _refusal(rpc_path, max_body_bytes)
    app = Starlette(
        routes=[
            *card.routes(),
            *Health(handler.client).routes(),
            *(_parsed(answering.by(route), most) for route in rpc_routes),
            *routes,
            *([Mount(rest_prefix, routes=served_rest)] if rest_prefix else served_rest),
        ],
        middleware=[
            Middleware(BodyLimit, max_bytes=max_body_bytes, refuse=refuse),
            *middleware,
            Middleware(BodyRefusal, max_bytes=max_body_bytes, refuse=refuse),
        ],
        lifespan=lifespan,
    )
    app.state.event_streams = streams
    return app


async def _start(handler: TemporalRequestHandler, tried: asyncio.Event) -> None:
    """Start the handler, and try again for as long as Temporal is down."""
    pause = 1.0
    while True:
        try:
            await check_namespace(handler.client)
            await handler.start()
            tried.set()
            return await _warn_without_workers(handler)
        except (TemporalUnreachableError, ConnectionSettingsError, A2AError) as error:
            logger.warning("%s. Not ready; next try in %.0f s.", error, pause)
        except Exception:
            logger.exception("the handler could not be started; the first request tries again")
            return None
        finally:
            tried.set()
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


async def _warn_without_workers(handler: TemporalRequestHandler) -> None:
    """Say, some seconds after the start, when tasks would wait for a worker that is not there."""
    await asyncio.sleep(_WORKERS_SECONDS)
    asking = handler.client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=handler.client.namespace,
            task_queue=TaskQueue(name=handler.task_queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
    )
    with contextlib.suppress(RPCError):
        if (await asking).pollers:
            return
        logger.warning(
            "No worker listens on task queue %r: tasks wait until one does. Start one for this "
            "agent, or give server and worker the same task queue.",
            handler.task_queue,
        )


@dataclass(frozen=True)
class _Answering:
    """What every answer of the SDK's routes gets from us.

    Attributes:
        streams: Take over event streams, with our pings and our end.
        card: Declares the extensions that can be active.
        builder: Knows who calls.
    """

    streams: EventStreams
    card: AgentCard
    builder: ServerCallContextBuilder

    def by(self, route: BaseRoute) -> BaseRoute:
        """Return the route with it."""
        if isinstance(route, Mount):
            return Mount(route.path, routes=[self.by(inner) for inner in route.routes])
        if not isinstance(route, Route):
            return route
        endpoint: Endpoint = route.endpoint

        async def answer(request: Request) -> Response:
            # Read here, a body over the limit is no surprise to the dispatcher.
            await request.body()
            if self.card.capabilities.extended_agent_card:
                refusal = refuse_anonymous(request, route.path, self.builder)
                if refusal is not None:
                    return refusal
            with self.streams.call():
                return await self._answer(request, endpoint, resumes(request, route.path))

        return Route(route.path, answer, methods=list(route.methods or ()))

    async def _answer(self, request: Request, endpoint: Endpoint, resumed: bool) -> Response:
        answering = endpoint(request)
        leaving = asyncio.ensure_future(client_leaves(request.receive))
        streams = False
        try:
            response = await while_awaited(opened(answering) if resumed else answering, leaving)
            active = active_extensions(requested_extensions(request), self.card)
            echo(response, active)
            if response.status_code == HTTP_503_SERVICE_UNAVAILABLE:
                response.headers.setdefault("Retry-After", _RETRY_AFTER_SECONDS)
            if not isinstance(response, EventSourceResponse):
                return _whole(response)
            streams = True
            return self.streams.adopt(response, leaving, with_ids=RESUMABLE_STREAMS in active)
        finally:
            if not streams:
                leaving.cancel()


def _decoded(route: BaseRoute, most: int) -> BaseRoute:
    """Answer a REST body that is no JSON as the client's error it is."""
    if isinstance(route, Mount):
        return Mount(route.path, routes=[_decoded(inner, most) for inner in route.routes])
    if not isinstance(route, Route):
        return route
    endpoint: Endpoint = route.endpoint

    async def answer(request: Request) -> Response:
        body = await request.body()
        too_many = too_many_values(body, most)
        if too_many is not None and len(body) > LARGEST_PARSED:
            return _rest_error(too_many)
        try:
            value = request.state.rest_json = load_once(body) if body else None
        except (ValueError, RecursionError):
            return _rest_error(InvalidRequestError(message="The request body is not valid JSON"))
        if too_many is not None:
            return _rest_error(too_many)
        if not is_text(body, value):
            return _rest_error(InvalidParamsError(message=NO_TEXT))
        return await endpoint(request)

    return Route(route.path, answer, methods=list(route.methods or ()))


def _parsed(route: BaseRoute, most: int) -> BaseRoute:
    """Answer what is no JSON as the parse error it is; the request keeps what was parsed."""
    if not isinstance(route, Route):
        return route
    endpoint: Endpoint = route.endpoint

    async def answer(request: Request) -> Response:
        body = await request.body()
        too_many = too_many_values(body, most)
        if too_many is not None and len(body) > LARGEST_PARSED:
            return JSONResponse(build_error_response(None, too_many))
        try:
            value = request.state.json = await request.json()
        except (ValueError, RecursionError):
            return JSONResponse(_rpc_error(_PARSE_ERROR, "The request body is not valid JSON"))
        if too_many is not None:
            return JSONResponse(build_error_response(id_of(value), too_many))
        if not is_text(body, value):
            return JSONResponse(_rpc_error(_INVALID_PARAMS, NO_TEXT))
        return await endpoint(request)

    return Route(route.path, answer, methods=list(route.methods or ()))


def _whole(response: Response) -> Response:
    """Return an answer that the SDK has written with its whole numbers as such."""
    if isinstance(response, JSONResponse):
        response.body = with_whole_numbers(bytes(response.body).decode()).encode()
        response.headers["Content-Length"] = str(len(response.body))
    return response


def _rest_error(error: A2AError) -> Response:
    return JSONResponse(build_rest_error_payload(error), status_code=400)


def _refusal(rpc_path: str, max_bytes: int) -> Callable[[str], Response]:
    text = f"The request body is larger than {max_bytes} bytes"

    def refuse(path: str) -> Response:
        content = (
            _rpc_error(_INVALID_REQUEST, text)
            if path == rpc_path
            else {"error": {"code": 413, "status": "INVALID_ARGUMENT", "message": text}}
        )
        return JSONResponse(content, status_code=413, headers={"Connection": "close"})

    return refuse


def _rpc_error(code: int, message: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
