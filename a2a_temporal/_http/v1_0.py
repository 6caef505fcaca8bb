"""Protocol version 1.0 over JSON-RPC and REST: one table of operations, and one way to answer them.

Requests and answers are converted once, large ones beside the event loop.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.jsonrpc_models import MethodNotFoundError
from a2a.server.request_handlers import RequestHandler
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils import proto_utils
from a2a.utils.constants import A2A_JSON_MEDIA_TYPE, PROTOCOL_VERSION_1_0
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import (
    A2AError,
    InvalidParamsError,
    InvalidRequestError,
    TaskNotFoundError,
)
from a2a.utils.version_validator import validate_version
from google.protobuf.json_format import ParseError
from google.protobuf.message import Message as ProtobufMessage
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount

from a2a_temporal._aside import done
from a2a_temporal._http.authentication import unauthenticated
from a2a_temporal._http.bodies import as_object, check_files
from a2a_temporal._http.cards import PublicCard
from a2a_temporal._http.exchange import Endpoint, Exchange, id_of, opened, resumes, rpc_error
from a2a_temporal._http.frames import Envelope, dumped, frames
from a2a_temporal._http.streams import EventStream, EventStreams
from a2a_temporal._log.protojson import from_json, to_json
from a2a_temporal._reading.position import LogEvent, LogPosition
from a2a_temporal._server.errors import masked, masked_stream
from a2a_temporal._server.handler import TemporalRequestHandler

logger = logging.getLogger(__name__)

_UNREADABLE = (ParseError, AttributeError, OverflowError, RecursionError, TypeError, ValueError)
"""What reading a request may raise."""

_EXTENDED_CARD = "GetExtendedAgentCard"


class _Operation(NamedTuple):
    request: type[ProtobufMessage]
    method: str
    streams: bool = False


_OPERATIONS = {
    "SendMessage": _Operation(SendMessageRequest, "on_message_send"),
    "SendStreamingMessage": _Operation(SendMessageRequest, "on_message_send_stream", streams=True),
    "GetTask": _Operation(GetTaskRequest, "on_get_task"),
    "ListTasks": _Operation(ListTasksRequest, "on_list_tasks"),
    "CancelTask": _Operation(CancelTaskRequest, "on_cancel_task"),
    "SubscribeToTask": _Operation(SubscribeToTaskRequest, "on_subscribe_to_task", streams=True),
    "CreateTaskPushNotificationConfig": _Operation(
        TaskPushNotificationConfig, "on_create_task_push_notification_config"
    ),
    "GetTaskPushNotificationConfig": _Operation(
        GetTaskPushNotificationConfigRequest, "on_get_task_push_notification_config"
    ),
    "ListTaskPushNotificationConfigs": _Operation(
        ListTaskPushNotificationConfigsRequest, "on_list_task_push_notification_configs"
    ),
    "DeleteTaskPushNotificationConfig": _Operation(
        DeleteTaskPushNotificationConfigRequest, "on_delete_task_push_notification_config"
    ),
    _EXTENDED_CARD: _Operation(GetExtendedAgentCardRequest, "on_get_extended_agent_card"),
}


class _RestRoute(NamedTuple):
    """An operation over REST.

    Attributes:
        method: Of HTTP.
        ids: The field of the request that each parameter of the path is.
        source: Where the other fields come from: ``body``, ``query`` or nowhere.
    """

    path: str
    method: str
    operation: str
    ids: dict[str, str]
    source: str = ""


_ID = {"id": "id"}
_TASK = {"id": "task_id"}
_CONFIG = {"id": "task_id", "push_id": "id"}
_CONFIGS = "/tasks/{id}/pushNotificationConfigs"

_REST = (
    _RestRoute("/message:send", "POST", "SendMessage", {}, "body"),
    _RestRoute("/message:stream", "POST", "SendStreamingMessage", {}, "body"),
    _RestRoute("/tasks/{id}:cancel", "POST", "CancelTask", _ID),
    _RestRoute("/tasks/{id}:subscribe", "GET", "SubscribeToTask", _ID),
    _RestRoute("/tasks/{id}:subscribe", "POST", "SubscribeToTask", _ID),
    _RestRoute("/tasks/{id}", "GET", "GetTask", _ID, "query"),
    _RestRoute("/tasks", "GET", "ListTasks", {}, "query"),
    _RestRoute(_CONFIGS + "/{push_id}", "GET", "GetTaskPushNotificationConfig", _CONFIG),
    _RestRoute(_CONFIGS + "/{push_id}", "DELETE", "DeleteTaskPushNotificationConfig", _CONFIG),
    _RestRoute(_CONFIGS, "POST", "CreateTaskPushNotificationConfig", _TASK, "body"),
    _RestRoute(_CONFIGS, "GET", "ListTaskPushNotificationConfigs", _TASK, "query"),
    _RestRoute("/extendedAgentCard", "GET", _EXTENDED_CARD, {}),
)


OtherMethods = Callable[[Request, dict[str, Any]], Awaitable[Response | None]]
"""Answers a call of JSON-RPC whose method is none of 1.0; ``None`` if it is none of these."""


class _Binding(NamedTuple):
    """How a binding writes what an operation returns.

    Attributes:
        envelope: What stands around the JSON of a result or of an event.
        nothing: The result of an operation that returns nothing.
        refusal: Makes the last event of a stream that fails.
    """

    media_type: str
    envelope: Envelope
    nothing: bytes
    refusal: Callable[[A2AError], dict[str, Any]]


_AS_REST = _Binding(A2A_JSON_MEDIA_TYPE, (b"", b""), b"{}", build_rest_error_payload)


def _as_rpc(request_id: str | int | None) -> _Binding:
    envelope = b'{"jsonrpc":"2.0","id":' + dumped(request_id) + b',"result":', b"}"
    return _Binding(
        "application/json", envelope, b"null", partial(build_error_response, request_id)
    )


@dataclass(frozen=True)
class Operations:
    """Answers the operations.

    Attributes:
        handler: Serves the calls.
        builder: Makes their contexts.
        streams: All open streams of the app.
        public: Shows an extended card with the URLs and versions of the public one.
    """

    handler: RequestHandler
    builder: ServerCallContextBuilder
    streams: EventStreams
    public: PublicCard

    def json_rpc(self, exchange: Exchange, path: str, other: OtherMethods | None) -> BaseRoute:
        """Return the route of JSON-RPC, which may serve other methods as well."""

        async def answer(request: Request, call: Any) -> Response:
            request_id = id_of(call)
            try:
                _check_call(call)
                if call["method"] in _OPERATIONS:
                    return await self._answer_rpc(request, call, request_id)
                response = await other(request, call) if other else None
                return response or rpc_error(request_id, MethodNotFoundError())
            except A2AError as error:
                logger.debug("call %r is refused: %r", request_id, error)
                return rpc_error(request_id, error)

        return exchange.json_rpc(path, answer)

    async def _answer_rpc(
        self, request: Request, call: dict[str, Any], request_id: str | int | None
    ) -> Response:
        operation = _OPERATIONS[call["method"]]
        size = len(await request.body())
        try:
            params = await done(size, _read, call.get("params", {}), operation.request())
        except _UNREADABLE as error:
            raise InvalidParamsError(data={"parseError": _why(error)}) from error
        context = self.builder.build(request)
        context.tenant = getattr(params, "tenant", "")
        context.state.update(method=call["method"], request_id=request_id)
        return await self._answer(request, call["method"], params, context, _as_rpc(request_id))

    def rest(self, exchange: Exchange) -> Sequence[BaseRoute]:
        """Return the routes of REST; the last one takes every longer path."""
        routes = [exchange.rest(each.path, self._rest(each), method=each.method) for each in _REST]
        return [*routes, Mount("/{tenant}", routes=routes)]

    def _rest(self, route: _RestRoute) -> Endpoint:
        async def answer(request: Request, value: Any) -> Response:
            params: Any = _OPERATIONS[route.operation].request()
            if route.source == "body":
                params = await _read_body(request, value, params)
            context = self.builder.build(request)
            await _check_version(context)
            if route.source == "query":
                _check_status(request.query_params.get("status"))
                proto_utils.parse_params(request.query_params, params)
            for name, field in route.ids.items():
                setattr(params, field, request.path_params[name])
            context.tenant = request.path_params.get("tenant", context.tenant)
            return await self._answer(request, route.operation, params, context, _AS_REST)

        return answer

    async def _answer(
        self,
        request: Request,
        operation: str,
        params: Any,
        context: ServerCallContext,
        binding: _Binding,
    ) -> Response:
        await _check_version(context)
        if _OPERATIONS[operation].streams:
            streaming = self._stream(operation, params, context, binding)
            if operation == "SubscribeToTask" and resumes(request):
                return await opened(streaming, self.streams)
            return await streaming
        if operation == _EXTENDED_CARD and self.public.is_for_others(context.user):
            return unauthenticated("Authenticate first.")
        serve: Callable[..., Awaitable[Any]] = getattr(self.handler, _OPERATIONS[operation].method)
        result = await masked(serve(params, context), where=operation)
        if isinstance(result, AgentCard):
            headers: dict[str, str] = context.state.get("headers", {})
            result = self.public.shown(result, Headers(headers))
        before, behind = binding.envelope
        body = binding.nothing
        if result is not None:
            body = await done(result.ByteSize(), _written, operation, result)
        elif not operation.startswith("Delete"):
            raise TaskNotFoundError
        return Response(before + body + behind, media_type=binding.media_type)

    async def _stream(
        self, operation: str, params: Any, context: ServerCallContext, binding: _Binding
    ) -> Response:
        events = masked_stream(self._events(params, context), where=operation)
        first = await anext(events, list[LogEvent]())
        before, behind = binding.envelope
        envelope = (b"data: " + before, behind + b"\r\n\r\n")
        return EventStream(frames(first, events, envelope, binding.refusal), self.streams)

    def _events(
        self, params: SendMessageRequest | SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[list[LogEvent]]:
        """Return the events of a stream, as many at a time as there are."""
        handler = self.handler
        if isinstance(params, SendMessageRequest):
            if isinstance(handler, TemporalRequestHandler):
                return handler.message_events(params, context)
            return _one_by_one(handler.on_message_send_stream(params, context))
        if isinstance(handler, TemporalRequestHandler):
            return handler.task_events(params, context)
        return _one_by_one(handler.on_subscribe_to_task(params, context))


async def _one_by_one(events: AsyncGenerator[Event]) -> AsyncGenerator[list[LogEvent]]:
    try:
        async for event in events:
            yield [LogEvent(LogPosition(""), event, 0)]
    finally:
        await events.aclose()


# ----------------------------------------------------------------- reading


def _check_call(call: Any) -> None:
    """Check what JSON-RPC asks of every call.

    Raises:
        InvalidRequestError: The call is none.
    """
    if isinstance(call, list):
        raise InvalidRequestError(message="Batch requests are not supported")
    if not isinstance(call, dict):
        raise InvalidRequestError(message="The call is no JSON object")
    members = as_object(call)
    if members.get("jsonrpc") != "2.0":
        raise InvalidRequestError(message="Invalid request: 'jsonrpc' must be exactly '2.0'")
    if members.get("id") is not None and id_of(call) is None:
        raise InvalidRequestError(message="Invalid request: id must be a string, integer, or null")
    if not isinstance(members.get("method"), str):
        raise InvalidRequestError(message="Method is required")


def _read(value: Any, into: ProtobufMessage) -> ProtobufMessage:
    """Read a request.

    Raises:
        InvalidParamsError: It holds bytes that are no base64, or asks for a state that is none.
        ParseError: It is no request of this kind; other errors of conversion say the same.
    """
    if not isinstance(value, dict):
        raise ParseError("The request is no JSON object")
    members = as_object(value)
    if isinstance(into, SendMessageRequest):
        check_files(members.get("message"))
    if isinstance(into, ListTasksRequest):
        _check_status(members.get("status"))
    return from_json(members, into)


async def _read_body(request: Request, value: Any, into: ProtobufMessage) -> ProtobufMessage:
    try:
        return await done(len(await request.body()), _read, value, into)
    except ParseError:
        raise
    except _UNREADABLE as error:
        raise ParseError(_why(error)) from error


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, ParseError) else "The request is no message of this kind"


def _check_status(status: object) -> None:
    """Check the one enum whose 0 has a meaning: protobuf reads an unknown name as 0.

    Raises:
        InvalidParamsError: It names no task state.
    """
    known = [name for name, _ in TaskState.items()]
    if isinstance(status, str) and not status.isdigit() and status not in known:
        raise InvalidParamsError(
            f"status {status[:50]!r} is no task state. Use one of: {', '.join(known[1:])}"
        )


@validate_version(PROTOCOL_VERSION_1_0)
async def _check_version(context: ServerCallContext) -> None:
    """Refuse a call in another version.

    Raises:
        VersionNotSupportedError: It is of one.
    """


# ----------------------------------------------------------------- writing


def _written(operation: str, answer: ProtobufMessage) -> bytes:
    if operation == "SendMessage":
        return dumped({"task" if isinstance(answer, Task) else "message": to_json(answer)})
    if isinstance(answer, ListTasksResponse):
        return _written_page(answer)
    return dumped(to_json(answer))


def _written_page(page: ListTasksResponse) -> bytes:
    """Return a page with all of its own fields, as A2A 1.0 section 3.1.4 wants."""
    return dumped(
        {
            "tasks": [to_json(task) for task in page.tasks],
            "nextPageToken": page.next_page_token,
            "pageSize": page.page_size,
            "totalSize": page.total_size,
        }
    )
