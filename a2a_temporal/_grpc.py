"""The gRPC server of a handler: protocol versions 1.0 and 0.3 side by side, on one port.

call → guard (extensions, unexpected errors) → SDK servicer → handler
"""

import asyncio
import contextvars
import logging
import uuid
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Sequence,
)
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, cast

import grpc
import grpc.aio
from a2a.compat.v0_3 import a2a_v0_3_pb2, a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.extension_headers import LEGACY_HTTP_EXTENSION_HEADER
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.compat.v0_3.proto_utils import ToProto
from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.server.request_handlers.grpc_handler import (
    _ERROR_CODE_MAP as STATUS_CODES,  # pyright: ignore[reportPrivateUsage] # there is no public table
)
from a2a.server.request_handlers.grpc_handler import (
    DefaultGrpcServerCallContextBuilder,
    GrpcHandler,
    GrpcServerCallContextBuilder,
)
from a2a.server.routes.common import StarletteUser
from a2a.types import AgentCard, GetExtendedAgentCardRequest, a2a_pb2_grpc
from a2a.utils.constants import (
    PROTOCOL_VERSION_0_3,
    VERSION_HEADER,
    TransportProtocol,
)
from a2a.utils.errors import A2AError, InvalidParamsError, VersionNotSupportedError
from google.protobuf.message import DecodeError
from google.protobuf.message import Message as ProtobufMessage
from starlette.authentication import (
    AuthCredentials,
    AuthenticationBackend,
    AuthenticationError,
    BaseUser,
)
from starlette.requests import HTTPConnection

from a2a_temporal._aside import aside, done
from a2a_temporal._compat import NO_PAGES, CompatHandler, sent_message
from a2a_temporal._http.authentication import UNAUTHENTICATED
from a2a_temporal._http.calls import major_minor, served_as_1_0
from a2a_temporal._http.cards import with_v0_3
from a2a_temporal._http.exchange import active_extensions
from a2a_temporal._server.cards import CardSigner, signed
from a2a_temporal._server.errors import UnavailableError, internal_error, masked_handler
from a2a_temporal._server.handler import TemporalRequestHandler
from a2a_temporal._server.validation import too_many_values

logger = logging.getLogger(__name__)

# Both of the SDK's servicers look here, and know exact classes only.
STATUS_CODES[UnavailableError] = grpc.StatusCode.UNAVAILABLE

DEFAULT_MAX_MESSAGE_BYTES = 10 * 1024 * 1024

_EXTENSIONS = HTTP_EXTENSION_HEADER.lower()
_LEGACY_EXTENSIONS = LEGACY_HTTP_EXTENSION_HEADER.lower()
_VERSION = VERSION_HEADER.lower()


def create_grpc_server(
    handler: TemporalRequestHandler,
    *,
    context_builder: GrpcServerCallContextBuilder | None = None,
    interceptors: Sequence[grpc.aio.ServerInterceptor] = (),
    authentication: AuthenticationBackend | None = None,
    enable_v0_3: bool = True,
    enable_v1_1: bool = False,
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
) -> grpc.aio.Server:
    """Build a server for a handler; add a port, start it, and stop it before the handler is closed.

    The handler is started with the first call, or by you. Close it (``handler.aclose()``) before
    ``server.stop()``: that ends open streams without a terminal event.

    Args:
        handler: The handler.
        context_builder: Makes the user of a call; without one, all callers are anonymous.
        interceptors: Yours; they stand before the handler.
        authentication: Who calls, as for HTTP: the backend sees the metadata of a call as headers.
            What it refuses is answered with UNAUTHENTICATED. In the place of ``context_builder``.
        enable_v0_3: Serve the service of protocol version 0.3 as well.
        enable_v1_1: Serve a call that says version 1.1 as one of 1.0; otherwise it is refused.
        max_message_bytes: A larger request is answered with RESOURCE_EXHAUSTED.
    """
    if authentication is not None:
        interceptors = [*interceptors, _Authenticating(authentication)]
        context_builder = context_builder or _AuthenticatedContextBuilder()
    options = handler.options
    guard = _Guard(handler.agent_card, options.stream_write_timeout, options.maximum_message_values)
    server = grpc.aio.server(
        interceptors=[*interceptors, guard],
        options=[
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.max_send_message_length", -1),
        ],
    )
    masked = _declaring(handler, options.card_signer)
    inner = context_builder or DefaultGrpcServerCallContextBuilder()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(
        GrpcHandler(masked, _CallContextBuilder(inner, *served_as_1_0(enable_v1_1=enable_v1_1))),
        server,
    )
    if enable_v0_3:
        compat = _Compat(masked, _CallContextBuilder(inner, PROTOCOL_VERSION_0_3))
        compat.handler03 = CompatHandler(_declaring(handler, None, enable_v0_3=True))
        a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(compat, server)
    return server


class _CallContextBuilder(GrpcServerCallContextBuilder):
    """Builds the context by another builder, after the version was found to be the service's."""

    def __init__(self, inner: GrpcServerCallContextBuilder, version: str, *same: str) -> None:
        self._inner = inner
        self._version = version
        self._served = (version, *same)

    def build(self, context: "grpc.aio.ServicerContext[Any, Any]") -> ServerCallContext:
        """Build the context of one call.

        Raises:
            VersionNotSupportedError: The caller speaks another version than this service.
        """
        headers = _headers(context.invocation_metadata() or ())
        given = headers.get(_VERSION) or PROTOCOL_VERSION_0_3
        if major_minor(given) not in self._served:
            raise VersionNotSupportedError(
                message=f"A2A version {given[:20]!r} is not supported by this service; "
                f"supported: {', '.join(self._served)}"
            )
        try:
            built = self._inner.build(context)
        except A2AError:
            raise
        except Exception as error:
            raise internal_error(error, where="the call context") from error
        built.requested_extensions |= _requested(headers)
        built.state["headers"] = {**headers, _VERSION: self._version}
        return built


def _declaring(
    handler: RequestHandler, signer: CardSigner | None, *, enable_v0_3: bool = False
) -> RequestHandler:
    """Return a masked handler whose extended card is signed, or declares 0.3."""

    async def declared(
        params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        card = await handler.on_get_extended_agent_card(params, context)
        return with_v0_3(card, tuple(TransportProtocol)) if enable_v0_3 else signed(card, signer)

    return masked_handler(handler, on_get_extended_agent_card=declared)


class _Compat(CompatGrpcHandler):
    """The SDK's servicer of 0.3; a message that it cannot read is the client's error.

    It heeds the id that a new push config is given.
    """

    async def SendMessage(
        self,
        request: a2a_v0_3_pb2.SendMessageRequest,
        context: "grpc.aio.ServicerContext[Any, Any]",
    ) -> a2a_v0_3_pb2.SendMessageResponse:
        """Send."""

        async def send(call: ServerCallContext) -> a2a_v0_3_pb2.SendMessageResponse:
            answer = await self.handler03.on_message_send(await aside(sent_message, request), call)
            return await aside(ToProto.task_or_message, answer)

        return await self._handle_unary(context, send, a2a_v0_3_pb2.SendMessageResponse())

    async def SendStreamingMessage(
        self,
        request: a2a_v0_3_pb2.SendMessageRequest,
        context: "grpc.aio.ServicerContext[Any, Any]",
    ) -> AsyncIterable[a2a_v0_3_pb2.StreamResponse]:
        """Stream."""

        async def send(call: ServerCallContext) -> AsyncIterable[a2a_v0_3_pb2.StreamResponse]:
            sent = await aside(sent_message, request)
            async for response in self.handler03.on_message_send_stream(sent, call):
                yield ToProto.stream_response(response.result)

        async for response in self._handle_stream(context, send):
            yield response

    async def CreateTaskPushNotificationConfig(
        self,
        request: a2a_v0_3_pb2.CreateTaskPushNotificationConfigRequest,
        context: "grpc.aio.ServicerContext[Any, Any]",
    ) -> a2a_v0_3_pb2.TaskPushNotificationConfig:
        """Set a config, under the id that stands beside it if it names none itself."""
        config = request.config.push_notification_config
        config.id = config.id or request.config_id
        return await super().CreateTaskPushNotificationConfig(request, context)

    async def ListTaskPushNotificationConfig(
        self,
        request: a2a_v0_3_pb2.ListTaskPushNotificationConfigRequest,
        context: "grpc.aio.ServicerContext[Any, Any]",
    ) -> a2a_v0_3_pb2.ListTaskPushNotificationConfigResponse:
        """List configs."""
        if request.page_token:
            await self.abort_context(InvalidParamsError(message=NO_PAGES), context)
        return await super().ListTaskPushNotificationConfig(request, context)


@dataclass(frozen=True)
class _Guard(grpc.aio.ServerInterceptor):
    """Says which extensions are active, and lets no unexpected error out."""

    card: AgentCard
    write_timeout: timedelta
    most_values: int

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Wrap the method that is called."""
        method = await continuation(handler_call_details)
        if method is None:
            return None
        headers = _headers(handler_call_details.invocation_metadata or ())
        active = active_extensions(_requested(headers), self.card)
        metadata = ((_EXTENSIONS, ", ".join(active)),) if active else ()
        codec = {"request_deserializer": None, "response_serializer": method.response_serializer}
        read = partial(_read, method.request_deserializer, self.most_values)
        if method.response_streaming:
            streaming: Any = _stream(method.unary_stream, read, metadata, self.write_timeout)
            return grpc.unary_stream_rpc_method_handler(streaming, **codec)
        answering: Any = _unary(method.unary_unary, read, metadata)
        return grpc.unary_unary_rpc_method_handler(answering, **codec)


_AUTHENTICATED: contextvars.ContextVar[tuple[AuthCredentials, BaseUser] | None] = (
    contextvars.ContextVar("authenticated", default=None)
)
"""Who calls: set for the coroutine that serves a call."""


@dataclass(frozen=True)
class _Authenticating(grpc.aio.ServerInterceptor):
    """Asks Starlette's authentication backend who calls."""

    backend: AuthenticationBackend

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Let the call go on, or refuse it."""
        headers = _headers(handler_call_details.invocation_metadata or ())
        scope = {
            "type": "http",
            "path": handler_call_details.method,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "query_string": b"",
        }
        method = await continuation(handler_call_details)
        try:
            _AUTHENTICATED.set(await self.backend.authenticate(HTTPConnection(scope)))
        except AuthenticationError:
            return _refusing(method, grpc.StatusCode.UNAUTHENTICATED, UNAUTHENTICATED)
        except Exception as error:
            masked = internal_error(error, where="authentication")
            return _refusing(method, grpc.StatusCode.INTERNAL, masked.message)
        return method


def _refusing(method: Any, status: grpc.StatusCode, text: str) -> Any:
    async def refuse(request: Any, context: "_Context") -> None:
        await context.abort(status, text)

    async def refuse_stream(request: Any, context: "_Context") -> AsyncIterator[Any]:
        await refuse(request, context)
        yield None  # pragma: no cover - abort() raises

    if method is None:
        return None
    answered_by: Any = grpc.unary_unary_rpc_method_handler
    if method.response_streaming:
        answered_by = grpc.unary_stream_rpc_method_handler
    return answered_by(refuse_stream if method.response_streaming else refuse)


class _AuthenticatedContextBuilder(DefaultGrpcServerCallContextBuilder):
    """Makes the user of a call of what the backend said."""

    def build(self, context: "grpc.aio.ServicerContext[Any, Any]") -> ServerCallContext:
        """Build the context of one call."""
        built = super().build(context)
        authenticated = _AUTHENTICATED.get()
        if authenticated is not None:
            built.state["auth"], user = authenticated
            built.user = StarletteUser(user)
        return built


# A value within an object within an object takes this many fields.
_FIELDS_A_VALUE = 8


def _read(unpack: Callable[[bytes], Any], most: int, data: bytes) -> Any:
    """Unpack a request, if it holds few enough values: in memory it is thirty times as large.

    Raises:
        InvalidParamsError: It holds more values than that, or is no message of the method.
    """
    kind = cast("type[ProtobufMessage]", unpack.__self__).DESCRIPTOR  # pyright: ignore[reportFunctionMemberAccess] # `Message.FromString`
    if len(data) > 2 * most and _holds_more(data, kind, most):
        raise too_many_values(most)
    try:
        return unpack(data)
    except DecodeError as error:  # gRPC would name our classes in its refusal
        text = "The request is not a message of this method"
        raise InvalidParamsError(message=text) from error


def _holds_more(data: bytes, kind: Any, most: int) -> bool:
    """Count the repeated fields of a packed message, members of objects among them."""
    values = fields = at = 0
    waiting = [(0, len(data), kind)]
    while waiting:
        at, end, kind = waiting.pop()
        while at < end:
            tag, at = _varint(data, at)
            field, size = kind.fields_by_number.get(tag >> 3), _SIZES.get(tag & 7, 0)
            if tag & 7 in (_VARINT, _LENGTH):
                size, at = _varint(data, at)
                size *= tag & 7 == _LENGTH
            if field is not None and field.message_type is not None:
                waiting.append((at, at + size, field.message_type))
            at += size
            fields += 1
            values += field is not None and field.is_repeated
            if values > most or fields > _FIELDS_A_VALUE * most:
                return True
    return False


_VARINT, _LENGTH = 0, 2
_SIZES = {1: 8, 5: 4}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, and the place behind it; a byte that is missing is 0."""
    number = shift = 0
    while True:
        byte = data[at] if at < len(data) else 0
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 or shift > 63:
            return number, at


_Metadata = Sequence[tuple[str, str]]
_Context = Any
_Read = Callable[[bytes], Any]


def _unary(
    inner: Callable[[Any, _Context], Awaitable[Any]], read: _Read, metadata: _Metadata
) -> Callable[[Any, _Context], Awaitable[Any]]:
    async def call(data: bytes, context: _Context) -> Any:
        try:
            if metadata:
                await context.send_initial_metadata(metadata)
            return await inner(await done(len(data), read, data), context)
        except grpc.aio.AbortError:
            raise
        except Exception as error:
            await _abort(context, error)

    return call


def _stream(
    inner: Callable[[Any, _Context], AsyncIterator[Any]],
    read: _Read,
    metadata: _Metadata,
    write_timeout: timedelta,
) -> Callable[[Any, _Context], Awaitable[None]]:
    async def call(data: bytes, context: _Context) -> None:
        try:
            if metadata:
                # At once: a resumed stream may have nothing to say for long.
                await context.send_initial_metadata(metadata)
            request = await done(len(data), read, data)
            responses = cast("AsyncGenerator[Any]", inner(request, context))
            async for response in responses:
                if not await _done_within(write_timeout, context.write(response)):
                    await responses.aclose()
                    text = "The client has taken nothing for too long"
                    await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, text)
        except grpc.aio.AbortError:
            raise
        except Exception as error:
            await _abort(context, error)

    return call


async def _done_within(limit: timedelta, writing: Awaitable[None]) -> bool:
    """Await a write, which is done for each event of each stream, without a task of its own."""
    task = cast("asyncio.Task[Any]", asyncio.current_task())
    passed = False

    def stop() -> None:
        nonlocal passed
        passed = True
        task.cancel()

    timer = asyncio.get_running_loop().call_later(limit.total_seconds(), stop)
    try:
        await writing
    except asyncio.CancelledError:
        if not passed:
            raise
        uncancel = getattr(task, "uncancel", None)  # Python 3.11
        if uncancel is not None:
            uncancel()
        return False
    finally:
        timer.cancel()
    return True


async def _abort(context: _Context, error: Exception) -> None:
    if isinstance(error, InvalidParamsError):
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, error.message)
    reference = uuid.uuid4().hex[:12]
    logger.error("unexpected error in a gRPC call, reference %s", reference, exc_info=error)
    await context.abort(grpc.StatusCode.INTERNAL, f"Internal error (reference {reference})")


def _headers(metadata: Any) -> dict[str, str]:
    """Return the metadata of a call; what is sent several times is joined, as in HTTP."""
    headers: dict[str, str] = {}
    for key, value in cast("Sequence[tuple[str, str | bytes]]", metadata):
        if isinstance(value, str):
            name = key.lower()
            headers[name] = f"{headers[name]},{value}" if name in headers else value
    return headers


def _requested(headers: dict[str, str]) -> set[str]:
    names = (_EXTENSIONS, _LEGACY_EXTENSIONS)
    return get_requested_extensions([headers[name] for name in names if name in headers])
