"""Protocol version 0.3 over JSON-RPC and REST, by the SDK's adapters.

A refusal of a stream is its only event over JSON-RPC, and an answer of its own over REST. REST can
delete a push config, and JSON-RPC says that it has. What the adapters say of unexpected errors, and
of requests they cannot read, names no internals.
"""

import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
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
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.types import DeleteTaskPushNotificationConfigRequest
from a2a.utils.constants import PROTOCOL_VERSION_0_3
from a2a.utils.error_handlers import build_rest_error_payload, rest_error_handler
from a2a.utils.errors import A2AError, InvalidParamsError, VersionNotSupportedError
from a2a.utils.version_validator import validate_version
from google.protobuf.json_format import MessageToDict, Parse, ParseDict
from pydantic import ValidationError
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from a2a_temporal._aside import aside, done
from a2a_temporal._compat import NO_PAGES, CompatHandler, sent_message
from a2a_temporal._http.calls import CallContextBuilder
from a2a_temporal._http.streams import SdkEvent, events_of
from a2a_temporal._sdk_logs import what_is_wrong
from a2a_temporal._server.errors import internal_error

Endpoint = Callable[[Request], Awaitable[Response]]

_CONFIG_PATH = "/v1/tasks/{id}/pushNotificationConfigs/{push_id}"
_STREAMED = ("message/stream", "tasks/resubscribe")
_HISTORY_LENGTH = re.compile(r"[+-]?\d{1,9}")


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


class JsonRpcV03:
    """Answers the JSON-RPC methods of 0.3.

    Args:
        handler: Serves the calls.
        builder: Makes their contexts.
    """

    def __init__(self, handler: RequestHandler, builder: CallContextBuilder) -> None:
        self._version = builder.version
        self._adapter = _Adapter(http_handler=handler, context_builder=builder)
        self._adapter.handler = CompatHandler(handler)

    def beside(self, route: Route) -> Route:
        """Return a JSON-RPC route that serves 0.3 as well as what it served."""
        endpoint: Endpoint = route.endpoint

        async def answer(request: Request) -> Response:
            body: Any = request.state.json
            if not self._is_call(body):
                return await endpoint(request)
            try:
                version = self._version(request)
            except A2AError as error:
                return JSONResponse(build_error_response(body.get("id"), error))
            if version != PROTOCOL_VERSION_0_3:
                error = VersionNotSupportedError(
                    message=f"{body['method']!r} is a method of A2A 0.3; this call says {version}."
                )
                return JSONResponse(build_error_response(body.get("id"), error))
            response = await self._answered(body, request)
            streams = body["method"] in _STREAMED
            return _as_stream(response) if streams else _complete(response)

        return Route(route.path, answer, methods=list(route.methods or ()))

    async def _answered(self, body: dict[str, Any], request: Request) -> Response:
        method, request_id = body["method"], body.get("id")
        model = self._adapter.METHOD_TO_MODEL[method]
        size = len(await request.body())
        try:
            # The adapter takes a call that was read for what it is, and reads it no second time.
            call: Any = await done(size, model.model_validate, body)
        except ValidationError as error:
            errors = what_is_wrong(error)
            return self._adapter.unreadable(request_id, errors)
        return await self._adapter.handle_request(request_id, method, call, request)

    def _is_call(self, body: Any) -> bool:
        """Say whether this is a well-formed call of 0.3; the SDK refuses what is none."""
        if not isinstance(body, dict):
            return False
        call = cast("dict[str, Any]", body)
        method, request_id = call.get("method"), call.get("id")
        return (
            call.get("jsonrpc") == "2.0"
            and isinstance(method, str)
            and self._adapter.supports_method(method)
            and not isinstance(request_id, bool)
            and isinstance(request_id, str | int | None)
        )


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
        text = await request.body()
        body: Any = json.loads(text) if text else None
        if not isinstance(body, dict):
            raise InvalidParamsError(message="The body is no push notification config.")
        given = cast("dict[str, Any]", body)
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


def rest_routes(handler: RequestHandler, builder: ServerCallContextBuilder) -> list[Route]:
    """Return the REST routes of 0.3; they begin with ``/v1``."""
    adapter = REST03Adapter(http_handler=handler, context_builder=builder)
    adapter.handler = _RestHandler(handler)
    adapter.handler.handler03 = CompatHandler(handler)

    @validate_version(PROTOCOL_VERSION_0_3)
    async def delete(context: ServerCallContext, params: dict[str, str]) -> None:
        await handler.on_delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=params["id"], id=params["push_id"]),
            context,
        )

    @rest_error_handler
    async def delete_config(request: Request) -> Response:
        await delete(builder.build(request), request.path_params)
        return JSONResponse({})

    def opened(endpoint: Endpoint, *, with_message: bool) -> Endpoint:
        @rest_error_handler
        async def answer(request: Request) -> Response:
            await _check(request, with_message=with_message)
            return await _begun(await endpoint(request))

        return answer

    routes = [
        Route(path, opened(endpoint, with_message="/message:" in path), methods=[method])
        for (path, method), endpoint in adapter.routes().items()
    ]
    return [*routes, Route(_CONFIG_PATH, delete_config, methods=["DELETE"])]


async def _check(request: Request, *, with_message: bool) -> None:
    """Refuse what the SDK would fail to read.

    Raises:
        InvalidParamsError: A part of the message is none, or a number is none.
        ParseError: The body is no message of 0.3.
    """
    length = request.query_params.get("historyLength")
    if length and not _HISTORY_LENGTH.fullmatch(length):
        raise InvalidParamsError(message="historyLength is not a whole number in its range.")
    if request.query_params.get("pageToken") or request.query_params.get("page_token"):
        raise InvalidParamsError(message=NO_PAGES)
    if with_message:
        request.state.sent = await aside(_sent, await request.body())


def _sent(body: bytes) -> types_v0_3.SendMessageRequest:
    sent = a2a_v0_3_pb2.SendMessageRequest()
    Parse(body, sent, ignore_unknown_fields=True)
    return sent_message(sent)


def _as_stream(response: Response) -> Response:
    """Return a stream; a refusal is its only event, which clients of 0.3 can read (0.3, 3.3.1)."""
    if isinstance(response, EventSourceResponse):
        return response

    async def refusal() -> AsyncIterator[SdkEvent]:
        yield {"data": bytes(response.body).decode()}

    return EventSourceResponse(refusal())


def _complete(response: Response) -> Response:
    """Return an answer with the ``result`` that JSON-RPC wants, also where that is null."""
    if not isinstance(response, JSONResponse):
        return response
    answer = cast("dict[str, Any]", json.loads(bytes(response.body)))
    if "result" in answer or "error" in answer:
        return response
    return JSONResponse({**answer, "result": None})


async def _begun(response: Response) -> Response:
    """Return a stream that has begun well, or the error it would have begun with."""
    if not isinstance(response, EventSourceResponse):
        return response
    events = aiter(events_of(response))
    try:
        first = await anext(events, None)
    except Exception as error:
        payload = build_rest_error_payload(error)
        return JSONResponse(payload, status_code=payload["error"]["code"])
    response.body_iterator = _chained(first, events)
    return response


async def _chained(
    first: SdkEvent | None, events: AsyncIterator[SdkEvent]
) -> AsyncIterator[SdkEvent]:
    try:
        if first is not None:
            yield first
        async for event in events:
            yield event
    finally:
        aclose = getattr(events, "aclose", None)
        if aclose is not None:
            await aclose()
