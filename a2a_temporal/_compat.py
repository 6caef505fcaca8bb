"""Protocol version 0.3 on the same tasks: what the SDK's adapters leave open, for every binding.

The SDK translates outside of its handlers, and sends the client the text of every error there. Here
a request that cannot be translated is the client's error. Any other unexpected error is a generic
one.
"""

import base64
import contextlib
import functools
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Generator
from typing import Any, TypeVar, cast

from a2a.compat.v0_3 import a2a_v0_3_pb2, conversions
from a2a.compat.v0_3 import types as v0_3
from a2a.compat.v0_3.proto_utils import FromProto
from a2a.compat.v0_3.request_handler import RequestHandler03
from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import SendMessageRequest, Task
from a2a.utils.errors import A2AError, InvalidParamsError, TaskNotFoundError
from a2a.utils.proto_utils import to_stream_response

from a2a_temporal._aside import aside, done
from a2a_temporal._log.conversion import is_base64, usual_base64
from a2a_temporal._server.errors import masked, masked_stream

NO_PAGES = "pageToken is not one of this list: 0.3 is answered with all configs of a task at once."

Method = TypeVar("Method", bound=Callable[..., Coroutine[Any, Any, Any]])

_TO_1_0: dict[type, Callable[[Any], object]] = {
    v0_3.GetTaskRequest: conversions.to_core_get_task_request,
    v0_3.CancelTaskRequest: conversions.to_core_cancel_task_request,
    v0_3.TaskResubscriptionRequest: conversions.to_core_subscribe_to_task_request,
    v0_3.SetTaskPushNotificationConfigRequest: (
        conversions.to_core_create_task_push_notification_config_request
    ),
    v0_3.GetTaskPushNotificationConfigRequest: (
        conversions.to_core_get_task_push_notification_config_request
    ),
    v0_3.ListTaskPushNotificationConfigRequest: (
        conversions.to_core_list_task_push_notification_config_request
    ),
    v0_3.DeleteTaskPushNotificationConfigRequest: (
        conversions.to_core_delete_task_push_notification_config_request
    ),
}


@contextlib.contextmanager
def translating() -> Generator[None]:
    """Read what a client has sent.

    Raises:
        InvalidParamsError: It holds what 1.0 has no value for; the text names no internals.
    """
    try:
        yield
    except A2AError:
        raise
    except Exception as error:
        text = "The request holds a value that is out of range or of a wrong kind."
        raise InvalidParamsError(message=text) from error


def sent_message(request: a2a_v0_3_pb2.SendMessageRequest) -> v0_3.SendMessageRequest:
    """Return the call that the protobuf of 0.3 makes, over gRPC or REST.

    The bytes of a file are those of the file, by the protobuf. The SDK's clients and its reader
    take them for the base64 that 0.3 has in JSON; what is none is the file itself.

    Raises:
        InvalidParamsError: A part of the message is none.
    """
    for part in request.request.content:
        if part.file.file_with_bytes and not _is_base64(part.file.file_with_bytes):
            part.file.file_with_bytes = base64.b64encode(part.file.file_with_bytes)
    with translating():
        return v0_3.SendMessageRequest(id="", params=FromProto.message_send_params(request))


def _is_base64(file: bytes) -> bool:
    return file.isascii() and is_base64(file.decode())


def _translated(method: Method) -> Method:
    """Return the SDK's method with its errors as A2A errors."""

    @functools.wraps(method)
    async def translated(handler: Any, request: object, context: ServerCallContext) -> Any:
        where = _checked(request)
        return await masked(method(handler, request, context), where=where)

    return cast("Method", translated)


def _checked(request: object) -> str:
    """Return the method that is called, once its request is known to have a counterpart in 1.0."""
    to_1_0 = _TO_1_0.get(type(request))
    if to_1_0 is not None:
        with translating():
            to_1_0(request)
    return str(getattr(request, "method", type(request).__name__))


def _read(request: v0_3.SendMessageRequest) -> SendMessageRequest:
    _check_files(request.params.message)
    with translating():
        return conversions.to_core_send_message_request(request)


def _check_files(message: v0_3.Message) -> None:
    """Check the bytes of files, of which the SDK reads one form only and drops what it is not.

    Raises:
        InvalidParamsError: Some are no base64.
    """
    for index, part in enumerate(message.parts):
        file = getattr(part.root, "file", None)
        if isinstance(file, v0_3.FileWithBytes):
            if not is_base64(file.bytes):
                raise InvalidParamsError(message=f"message.parts[{index}]: bytes are no base64.")
            file.bytes = usual_base64(file.bytes)


class CompatHandler(RequestHandler03):
    """The SDK's translation from 0.3 to 1.0, mended where it does not say what 0.3 wants.

    It raises nothing but A2A errors.
    """

    async def on_message_send(
        self, request: v0_3.SendMessageRequest, context: ServerCallContext
    ) -> v0_3.Task | v0_3.Message:
        """Send; messages are translated beside the event loop, as they may have many parts."""
        to_1_0 = await aside(_read, request)

        async def answered() -> v0_3.Task | v0_3.Message:
            answer = await self.request_handler.on_message_send(to_1_0, context)
            if isinstance(answer, Task):
                return await done(answer.ByteSize(), conversions.to_compat_task, answer)
            return await done(answer.ByteSize(), conversions.to_compat_message, answer)

        return await masked(answered(), where=request.method)

    async def on_message_send_stream(
        self, request: v0_3.SendMessageRequest, context: ServerCallContext
    ) -> AsyncIterable[v0_3.SendStreamingMessageSuccessResponse]:
        """Stream; a question is the last event of its stream, so it says so (``final``)."""
        to_1_0 = await aside(_read, request)

        async def responses() -> AsyncGenerator[v0_3.SendStreamingMessageSuccessResponse]:
            async for event in self.request_handler.on_message_send_stream(to_1_0, context):
                response = to_stream_response(event)
                yield conversions.to_compat_stream_response(response, request.id)

        async for response in masked_stream(responses(), where=request.method):
            event = response.result
            if isinstance(event, v0_3.TaskStatusUpdateEvent):
                event.final |= event.status.state == v0_3.TaskState.input_required
            yield response

    async def on_subscribe_to_task(
        self, request: v0_3.TaskResubscriptionRequest, context: ServerCallContext
    ) -> AsyncIterable[v0_3.SendStreamingMessageSuccessResponse]:
        """Subscribe."""
        where = _checked(request)
        responses = super().on_subscribe_to_task(request, context)
        events = cast("AsyncGenerator[v0_3.SendStreamingMessageSuccessResponse]", responses)
        async for response in masked_stream(events, where=where):
            yield response

    on_get_task = _translated(RequestHandler03.on_get_task)
    on_cancel_task = _translated(RequestHandler03.on_cancel_task)
    on_create_task_push_notification_config = _translated(
        RequestHandler03.on_create_task_push_notification_config
    )
    on_list_task_push_notification_configs = _translated(
        RequestHandler03.on_list_task_push_notification_configs
    )
    on_delete_task_push_notification_config = _translated(
        RequestHandler03.on_delete_task_push_notification_config
    )
    on_get_extended_agent_card = _translated(RequestHandler03.on_get_extended_agent_card)

    async def on_get_task_push_notification_config(
        self, request: v0_3.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> v0_3.TaskPushNotificationConfig:
        """Get a config; one that is not named is the task's first.

        Raises:
            TaskNotFoundError: There is none.
        """
        params = request.params
        if getattr(params, "push_notification_config_id", None):
            where = _checked(request)
            found = super().on_get_task_push_notification_config(request, context)
            return await masked(found, where=where)
        configs = await self.on_list_task_push_notification_configs(
            v0_3.ListTaskPushNotificationConfigRequest(
                id=request.id, params=v0_3.ListTaskPushNotificationConfigParams(id=params.id)
            ),
            context,
        )
        if not configs:
            raise TaskNotFoundError
        return configs[0]
