"""Protocol version 0.3 over JSON-RPC and REST, by the SDK's adapters.

A refusal of a stream is its only event over JSON-RPC, and an answer of its own over REST. REST can
delete a push config, and JSON-RPC says that it has. What the adapters say of unexpected errors, and
of requests they cannot read, names no internals.
"""

import json
import re
import sys
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any, cast

from a2a.compat.v0_3 import a2a_v0_3_pb2
from a2a.compat.v0_3 import types as types_v0_3
from a2a.compat.v0_3.jsonrpc_adapter import JSONRPC03Adapter
from a2a.compat.v0_3.proto_utils import FromProto, ToProto
from a2a.compat.v0_3.rest_adapter import REST03Adapter
from a2a.compat.v0_3.rest_handler import REST03Handler
from a2a.server.context import ServerCallContext
from a2a.server.jsonrpc_models import InternalError, InvalidRequestError, JSONRPCError
from a2a.server.request_handlers import RequestHandler
from a2a.types import (
    AgentCard,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
)
from a2a.utils.constants import PROTOCOL_VERSION_0_3
from a2a.utils.errors import A2AError, InvalidParamsError, VersionNotSupportedError
from a2a.utils.version_validator import validate_version
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from pydantic import ValidationError
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import EventSourceResponse
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from a2a_temporal._aside import aside, done
from a2a_temporal._compat import NO_PAGES, CompatHandler, sent_message
from a2a_temporal._http.authentication import unauthenticated
from a2a_temporal._http.bodies import as_object, check_files, with_whole_numbers
from a2a_temporal._http.calls import CallContextBuilder
from a2a_temporal._http.cards import PublicCard
from a2a_temporal._http.exchange import (
    Endpoint,
    Exchange,
    active_extensions,
    opened,
    requested_extensions,
    resumes,
)
from a2a_temporal._http.streams import LINE_ENDS, EventStream
from a2a_temporal._sdk_logs import what_is_wrong
from a2a_temporal._server.errors import internal_error, masked_handler
from a2a_temporal._server.resume import URI as RESUMABLE_STREAMS

_CONFIG_PATH = "/v1/tasks/{id}/pushNotificationConfigs/{push_id}"
_CARD_PATH = "/v1/card"
_CARD_METHOD = "agent/getAuthenticatedExtendedCard"
_DELETE_METHOD = "tasks/pushNotificationConfig/delete"
_RESUBSCRIBE_METHOD = "tasks/resubscribe"
_STREAMED = ("message/stream", _RESUBSCRIBE_METHOD)
_HISTORY_LENGTH = re.compile(r"[+-]?\d{1,9}")


_SdkEvent = ServerSentEvent | dict[str, str] | str
"""What the SDK's adapters yield."""


class _Adapter(JSONRPC03Adapter):
    """The SDK's adapter, which else answers with the text of any exception."""

    def _generate_error_response(
        self, request_id: str | int | None, error: Exception | JSONRPCError
    ) -> JSONResponse:
        if isinstance(error, InternalError) or not isinstance(error, A2AError | JSONRPCError):
            unexpected = sys.exc_info()[1] or RuntimeError(str(error))
            error = internal_error(unexpected, where="the 0.3 adapter")
        return super()._generate_error_response(request_id, error)

    def unreadable(
        self, request_id: str | int | None, errors: list[dict[str, str]]
    ) -> JSONResponse:
        """Say which fields are wrong and why, in the form the SDK says it in for 1.0."""
        error = InvalidRequestError(data={"errors": errors})
        return super()._generate_error_response(request_id, error)


class V03:
    """Answers the calls of 0.3.

    Args:
        handler: Serves the calls.
        builder: Makes their contexts.
        exchange: Makes the routes.
        public: Shows the extended card.
    """

    def __init__(
        self,
        handler: RequestHandler,
        builder: CallContextBuilder,
        exchange: Exchange,
        public: PublicCard,
    ) -> None:
        self._handler = _showing(handler, public)
        self._builder = builder
        self._exchange = exchange
        self._public = public
        self._adapter = _Adapter(http_handler=self._handler, context_builder=builder)
        self._adapter.handler = CompatHandler(self._handler)

    async def answer(self, request: Request, call: dict[str, Any]) -> Response | None:
        """Answer a well-formed call of JSON-RPC; ``None`` if its method is none of 0.3.

        Raises:
            A2AError: It is refused.
        """
        method, request_id = call["method"], call.get("id")
        if not self._adapter.supports_method(method):
            return None
        version = self._builder.version(request)
        if version != PROTOCOL_VERSION_0_3:
            raise VersionNotSupportedError(
                message=f"{method!r} is a method of A2A 0.3; this call says {version}."
            )
        if method == _CARD_METHOD and self._is_refused_card(request):
            return unauthenticated("Authenticate first.")
        size = len(await request.body())
        try:
            # The adapter takes a call that was read for what it is, and reads it no second time.
            read: Any = await done(size, self._adapter.METHOD_TO_MODEL[method].model_validate, call)
        except ValidationError as error:
            return self._adapter.unreadable(request_id, what_is_wrong(error))
        answering = self._answered(request, method, request_id, read)
        if method == _RESUBSCRIBE_METHOD and resumes(request):
            return await opened(answering, self._exchange.streams)
        return await answering

    async def _answered(
        self, request: Request, method: str, request_id: Any, read: Any
    ) -> Response:
        response = await self._adapter.handle_request(request_id, method, read, request)
        if isinstance(response, EventSourceResponse):
            return self._stream(request, _events_of(response))
        if method in _STREAMED:  # its only event, which clients of 0.3 can read (0.3, 3.3.1)
            return self._stream(request, _only(bytes(response.body).decode()))
        if method == _DELETE_METHOD and b'"error"' not in bytes(response.body):
            answer = {**json.loads(bytes(response.body)), "result": None}
            return JSONResponse(answer)  # JSON-RPC wants a result, also where that is null
        return _with_whole_numbers(response)

    def rest(self) -> list[Route]:
        """Return the routes of REST; they begin with ``/v1``."""
        adapter = REST03Adapter(http_handler=self._handler, context_builder=self._builder)
        adapter.handler = _RestHandler(self._handler)
        adapter.handler.handler03 = CompatHandler(self._handler)
        routes = [
            self._exchange.rest(path, self._rest(path, endpoint), method=method)
            for (path, method), endpoint in adapter.routes().items()
        ]
        return [
            *routes,
            self._exchange.rest(_CONFIG_PATH, self._delete_config, method="DELETE"),
        ]

    def _rest(self, path: str, endpoint: Any) -> Endpoint:
        async def answered(request: Request) -> Response:
            response = await endpoint(request)
            if isinstance(response, EventSourceResponse):
                return await self._begun(request, _events_of(response))
            return _with_whole_numbers(response)

        async def answer(request: Request, value: Any) -> Response:
            await _check(request, value, with_message="/message:" in path)
            if path == _CARD_PATH and self._is_refused_card(request):
                return unauthenticated("Authenticate first.")
            if path.endswith(":subscribe") and resumes(request):
                return await opened(answered(request), self._exchange.streams)
            return await answered(request)

        return answer

    async def _delete_config(self, request: Request, _: Any) -> Response:
        @validate_version(PROTOCOL_VERSION_0_3)
        async def delete(context: ServerCallContext) -> None:
            ids = request.path_params
            config = DeleteTaskPushNotificationConfigRequest(task_id=ids["id"], id=ids["push_id"])
            await self._handler.on_delete_task_push_notification_config(config, context)

        await delete(self._builder.build(request))
        return JSONResponse({})

    def _is_refused_card(self, request: Request) -> bool:
        return self._public.is_for_others(self._builder.build(request).user)

    async def _begun(self, request: Request, events: AsyncIterator[_SdkEvent]) -> Response:
        """Return a stream that has begun well; the error it would have begun with is raised."""
        first = await anext(events, None)
        return self._stream(request, events, first)

    def _stream(
        self, request: Request, events: AsyncIterable[_SdkEvent], first: _SdkEvent | None = None
    ) -> EventStream:
        active = active_extensions(requested_extensions(request), self._exchange.card)
        sent = _sent_as(events, first, with_ids=RESUMABLE_STREAMS in active)
        return EventStream(sent, self._exchange.streams)


def _showing(handler: RequestHandler, public: PublicCard) -> RequestHandler:
    """Return a masked handler whose extended card names the URLs and versions of the public one."""

    async def shown(params: GetExtendedAgentCardRequest, context: ServerCallContext) -> AgentCard:
        card = await handler.on_get_extended_agent_card(params, context)
        headers: dict[str, str] = context.state.get("headers", {})
        return public.shown(card, Headers(headers))

    return masked_handler(handler, on_get_extended_agent_card=shown)


class _RestHandler(REST03Handler):
    """The SDK's REST handler, which reads one of the two forms a new push config may have.

    Messages have been read before.
    """

    @validate_version(PROTOCOL_VERSION_0_3)
    async def on_message_send(self, request: Request, context: ServerCallContext) -> dict[str, Any]:
        """Send."""
        answer = await self.handler03.on_message_send(request.state.sent, context)
        return await aside(lambda: MessageToDict(ToProto.task_or_message(answer)))

    @validate_version(PROTOCOL_VERSION_0_3)
    async def on_message_send_stream(
        self, request: Request, context: ServerCallContext
    ) -> AsyncIterator[dict[str, Any]]:
        """Stream."""
        async for response in self.handler03.on_message_send_stream(request.state.sent, context):
            yield MessageToDict(ToProto.stream_response(response.result))

    @validate_version(PROTOCOL_VERSION_0_3)
    async def set_push_notification(
        self, request: Request, context: ServerCallContext
    ) -> dict[str, Any]:
        """Set a config.

        By the protobuf of 0.3 it is the body, by the text of 0.3 the body's ``config``.

        Raises:
            InvalidParamsError: The body is neither.
        """
        given = as_object(request.state.value)
        if not isinstance(request.state.value, dict):
            raise InvalidParamsError(message="The body is no push notification config.")
        sent = ParseDict(
            given if "config" in given else {"config": given},
            a2a_v0_3_pb2.CreateTaskPushNotificationConfigRequest(),
            ignore_unknown_fields=True,
        )
        beside = request.query_params.get("configId") or request.query_params.get("config_id")
        config = sent.config.push_notification_config
        config.id = config.id or sent.config_id or beside or ""
        params = types_v0_3.TaskPushNotificationConfig(
            task_id=request.path_params["id"],
            push_notification_config=FromProto.push_notification_config(config),
        )
        call = types_v0_3.SetTaskPushNotificationConfigRequest(id="", params=params)
        made = await self.handler03.on_create_task_push_notification_config(call, context)
        return MessageToDict(ToProto.task_push_notification_config(made))


async def _check(request: Request, value: Any, *, with_message: bool) -> None:
    """Refuse what the SDK would fail to read; the request keeps what was read.

    Raises:
        InvalidParamsError: A part of the message is none, or a number is none.
        ParseError: The body is no message of 0.3.
    """
    length = request.query_params.get("historyLength")
    if length and not _HISTORY_LENGTH.fullmatch(length):
        raise InvalidParamsError(message="historyLength is not a whole number in its range.")
    if request.query_params.get("pageToken") or request.query_params.get("page_token"):
        raise InvalidParamsError(message=NO_PAGES)
    request.state.value = value
    if with_message:
        request.state.sent = await aside(_sent, value)


def _sent(value: Any) -> types_v0_3.SendMessageRequest:
    if not isinstance(value, dict):
        raise ParseError("The body is no JSON object")
    check_files(as_object(value).get("message") or as_object(value).get("request"))
    sent = a2a_v0_3_pb2.SendMessageRequest()
    ParseDict(as_object(value), sent, ignore_unknown_fields=True)
    return sent_message(sent)


# ------------------------------------------------- what the adapters answer


def _with_whole_numbers(response: Response) -> Response:
    if isinstance(response, JSONResponse):
        response.body = with_whole_numbers(bytes(response.body).decode()).encode()
        response.headers["Content-Length"] = str(len(response.body))
    return response


def _events_of(response: EventSourceResponse) -> AsyncIterator[_SdkEvent]:
    # Declared there as anything, dicts without the types of key and value among it.
    events = response.body_iterator  # pyright: ignore[reportUnknownVariableType]
    return aiter(cast("AsyncIterable[_SdkEvent]", events))


async def _only(data: str) -> AsyncIterator[_SdkEvent]:
    yield {"data": data}


async def _sent_as(
    events: AsyncIterable[_SdkEvent], first: _SdkEvent | None, *, with_ids: bool
) -> AsyncIterator[bytes]:
    """Yield the bytes of a stream.

    Args:
        events: Made by an adapter.
        first: The event before those.
        with_ids: Send each event's place in the task's log as its `id`.
    """
    try:
        if first is not None:
            yield _encoded(first, with_id=with_ids)
        async for event in events:
            yield _encoded(event, with_id=with_ids)
    finally:
        aclose = getattr(events, "aclose", None)
        if aclose is not None:
            await aclose()


def _encoded(event: _SdkEvent, *, with_id: bool) -> bytes:
    if isinstance(event, ServerSentEvent):
        data, name = str(event.data), event.event
    elif isinstance(event, str):
        data, name = event, None
    else:
        data, name = event["data"], event.get("event")
    event_id = _cursor_of(data) if with_id else None
    return ServerSentEvent(
        with_whole_numbers(data).translate(LINE_ENDS), event=name, id=event_id
    ).encode()


def _cursor_of(data: str) -> str | None:
    """Return the place of an event of a resumable stream, given as the JSON it is sent as."""
    try:
        frame: Any = json.loads(data)
        return str(frame.get("result", frame)["metadata"][RESUMABLE_STREAMS]["cursor"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
