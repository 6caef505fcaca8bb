"""The operations of version 1.0 over REST that carry messages and tasks, beside the SDK's.

What is malformed, and all other operations, are left to the SDK's dispatcher.
"""

from collections.abc import Awaitable, Callable

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from a2a.utils import proto_utils
from a2a.utils.constants import A2A_JSON_MEDIA_TYPE
from a2a.utils.error_handlers import build_rest_error_payload, rest_error_handler
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from a2a_temporal._http.frames import events_of_call, frames
from a2a_temporal._http.unary import UNREADABLE, Call, answered, check_version, read
from a2a_temporal._server.errors import masked_handler
from a2a_temporal._server.follower import LogEvent

Endpoint = Callable[[Request], Awaitable[Response]]


class Rest:
    """Answers them.

    Args:
        handler: Serves the calls; it need not be masked.
        builder: Makes their contexts.
    """

    def __init__(self, handler: RequestHandler, builder: ServerCallContextBuilder) -> None:
        self._handler = handler
        self._masked = masked_handler(handler)
        self._builder = builder

    def beside(self, route: BaseRoute) -> BaseRoute:
        """Return one of the SDK's routes, answered here if it is of these; the body is parsed."""
        if isinstance(route, Mount):
            return Mount(route.path, routes=[self.beside(inner) for inner in route.routes])
        if not isinstance(route, Route):
            return route
        answer = self._endpoint(route)
        return Route(route.path, answer, methods=list(route.methods or ())) if answer else route

    def _endpoint(self, route: Route) -> Endpoint | None:
        endpoint: Endpoint = route.endpoint
        match route.path:
            case "/message:send" | "/message:stream":
                return self._with_body(endpoint, streams=route.path.endswith("stream"))
            case "/tasks/{id}":
                return self._get
            case "/tasks":
                return self._list
            case "/tasks/{id}:cancel":
                return self._cancel
            case "/tasks/{id}:subscribe":
                return self._subscribe
            case _:
                return None

    def _with_body(self, endpoint: Endpoint, *, streams: bool) -> Endpoint:
        async def answer(request: Request) -> Response:
            size = len(await request.body())
            try:
                params = await read(request.state.rest_json, SendMessageRequest(), size)
            except UNREADABLE:
                return await endpoint(request)
            return await (self._stream if streams else self._answer)(request, params)

        return answer

    async def _subscribe(self, request: Request) -> Response:
        return await self._stream(request, SubscribeToTaskRequest(id=request.path_params["id"]))

    async def _cancel(self, request: Request) -> Response:
        return await self._answer(request, CancelTaskRequest(id=request.path_params["id"]))

    @rest_error_handler
    async def _get(self, request: Request) -> Response:
        params = GetTaskRequest()
        await check_version(self._context(request))
        proto_utils.parse_params(request.query_params, params)
        params.id = request.path_params["id"]
        return await self._answer(request, params)

    @rest_error_handler
    async def _list(self, request: Request) -> Response:
        params = ListTasksRequest()
        await check_version(self._context(request))
        proto_utils.parse_params(request.query_params, params)
        return await self._answer(request, params)

    def _context(self, request: Request) -> ServerCallContext:
        context = self._builder.build(request)
        if "tenant" in request.path_params:
            context.tenant = request.path_params["tenant"]
        return context

    @rest_error_handler
    async def _answer(self, request: Request, call: Call) -> Response:
        body = await answered(self._masked, call, self._context(request))
        return Response(body, media_type=A2A_JSON_MEDIA_TYPE)

    @rest_error_handler
    async def _stream(
        self, request: Request, call: SendMessageRequest | SubscribeToTaskRequest
    ) -> Response:
        context = self._context(request)
        await check_version(context)
        events = events_of_call(self._handler, type(call).__name__, call, context)
        first = await anext(events, list[LogEvent]())
        return EventSourceResponse(
            frames(first, events, (b"data: ", b"\r\n\r\n"), build_rest_error_payload)
        )
