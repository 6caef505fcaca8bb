"""The methods of version 1.0 over JSON-RPC that carry messages and tasks, beside the SDK's.

What is malformed, and all other methods, are left to the SDK's dispatcher.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from a2a.utils.errors import A2AError
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from a2a_temporal._http.frames import dumped, events_of_call, frames
from a2a_temporal._http.unary import UNREADABLE, Call, answered, check_version, read
from a2a_temporal._server.errors import masked_handler
from a2a_temporal._server.follower import LogEvent

logger = logging.getLogger(__name__)

Endpoint = Callable[[Request], Awaitable[Response]]

_ANSWERED: dict[str, type[Call]] = {
    "SendMessage": SendMessageRequest,
    "GetTask": GetTaskRequest,
    "ListTasks": ListTasksRequest,
    "CancelTask": CancelTaskRequest,
}
_STREAMED: dict[str, type[SendMessageRequest | SubscribeToTaskRequest]] = {
    "SendStreamingMessage": SendMessageRequest,
    "SubscribeToTask": SubscribeToTaskRequest,
}


class JsonRpc:
    """Answers them.

    Args:
        handler: Serves the calls; it need not be masked.
        builder: Makes their contexts.
    """

    def __init__(self, handler: RequestHandler, builder: ServerCallContextBuilder) -> None:
        self._handler = handler
        self._masked = masked_handler(handler)
        self._builder = builder

    def beside(self, route: Route) -> Route:
        """Return the SDK's route with these methods answered here; it has parsed the body."""
        endpoint: Endpoint = route.endpoint

        async def answer(request: Request) -> Response:
            call = _call(request.state.json)
            if call is None:
                return await endpoint(request)
            method, request_id, params = call
            model = _ANSWERED.get(method) or _STREAMED[method]
            try:
                read_params = await read(params, model(), len(await request.body()))
            except UNREADABLE:
                return await endpoint(request)
            try:
                context = self._context(request, read_params, method, request_id)
                if method in _ANSWERED:
                    return await self._answer(read_params, context, request_id)
                return await self._stream(method, read_params, context, request_id)
            except A2AError as error:
                return _refused(request_id, error)

        return Route(route.path, answer, methods=list(route.methods or ()))

    def _context(
        self, request: Request, params: Call, method: str, request_id: Any
    ) -> ServerCallContext:
        context = self._builder.build(request)
        context.tenant = params.tenant
        context.state["method"] = method
        context.state["request_id"] = request_id
        return context

    async def _answer(self, params: Call, context: ServerCallContext, request_id: Any) -> Response:
        before, behind = _envelope(request_id)
        result = await answered(self._masked, params, context)
        return Response(before + result + behind, media_type="application/json")

    async def _stream(
        self, method: str, params: Any, context: ServerCallContext, request_id: Any
    ) -> Response:
        await check_version(context)
        events = events_of_call(self._handler, method, params, context)
        first = await anext(events, list[LogEvent]())
        before, behind = _envelope(request_id)
        return EventSourceResponse(
            frames(
                first,
                events,
                (b"data: " + before, behind + b"\r\n\r\n"),
                lambda error: build_error_response(request_id, error),
            )
        )


def _call(body: Any) -> tuple[str, Any, dict[str, Any]] | None:
    """Return method, id and parameters of a well-formed call of one of the methods."""
    if not isinstance(body, dict):
        return None
    call = cast("dict[str, Any]", body)
    method: Any = call.get("method")
    request_id: Any = call.get("id")
    params: Any = call.get("params", {})
    well_formed = (
        call.get("jsonrpc") == "2.0"
        and call.keys() <= {"jsonrpc", "id", "method", "params"}
        and isinstance(method, str)
        and (method in _ANSWERED or method in _STREAMED)
        and not isinstance(request_id, bool)
        and isinstance(request_id, str | int | None)
        and isinstance(params, dict)
    )
    return (method, request_id, cast("dict[str, Any]", params)) if well_formed else None


def _envelope(request_id: Any) -> tuple[bytes, bytes]:
    return b'{"jsonrpc":"2.0","id":' + dumped(request_id) + b',"result":', b"}"


def _refused(request_id: Any, error: A2AError) -> Response:
    logger.debug("call %r is refused: %r", request_id, error)
    return JSONResponse(build_error_response(request_id, error))
