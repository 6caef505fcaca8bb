"""The last wall: whatever a handler raises unexpectedly reaches no client.

The SDK's JSON-RPC dispatcher puts the text of any exception into its answer. This handler lets the
declared A2A errors through and turns everything else into a generic internal error with a
reference that stands in the log beside the traceback.
"""

from collections.abc import AsyncGenerator, Awaitable
from typing import TypeVar

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import RequestHandler
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import A2AError

from a2a_temporal._server.engine_errors import internal_error

T = TypeVar("T")


async def sealed(call: Awaitable[T], *, where: str) -> T:
    """Await a call; what it raises is an A2A error."""
    try:
        return await call
    except A2AError:
        raise
    except Exception as error:
        raise internal_error(error, where=where) from error


async def sealed_stream(events: AsyncGenerator[T], *, where: str) -> AsyncGenerator[T]:
    """Pass events on; what they end with is an A2A error."""
    try:
        async for event in events:
            yield event
    except A2AError:
        raise
    except Exception as error:
        raise internal_error(error, where=where) from error
    finally:
        await events.aclose()


class SealedHandler(RequestHandler):
    """A request handler that raises nothing but A2A errors."""

    def __init__(self, handler: RequestHandler) -> None:
        self._handler = handler

    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """SendMessage."""
        return await sealed(self._handler.on_message_send(params, context), where="SendMessage")

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """SendStreamingMessage."""
        events = self._handler.on_message_send_stream(params, context)
        async for event in sealed_stream(events, where="SendStreamingMessage"):
            yield event

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        """GetTask."""
        return await sealed(self._handler.on_get_task(params, context), where="GetTask")

    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """ListTasks."""
        return await sealed(self._handler.on_list_tasks(params, context), where="ListTasks")

    async def on_cancel_task(
        self, params: CancelTaskRequest, context: ServerCallContext
    ) -> Task | None:
        """CancelTask."""
        return await sealed(self._handler.on_cancel_task(params, context), where="CancelTask")

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """SubscribeToTask."""
        events = self._handler.on_subscribe_to_task(params, context)
        async for event in sealed_stream(events, where="SubscribeToTask"):
            yield event

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """CreateTaskPushNotificationConfig."""
        call = self._handler.on_create_task_push_notification_config(params, context)
        return await sealed(call, where="CreateTaskPushNotificationConfig")

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """GetTaskPushNotificationConfig."""
        call = self._handler.on_get_task_push_notification_config(params, context)
        return await sealed(call, where="GetTaskPushNotificationConfig")

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """ListTaskPushNotificationConfigs."""
        call = self._handler.on_list_task_push_notification_configs(params, context)
        return await sealed(call, where="ListTaskPushNotificationConfigs")

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """DeleteTaskPushNotificationConfig."""
        call = self._handler.on_delete_task_push_notification_config(params, context)
        await sealed(call, where="DeleteTaskPushNotificationConfig")

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """GetExtendedAgentCard."""
        call = self._handler.on_get_extended_agent_card(params, context)
        return await sealed(call, where="GetExtendedAgentCard")
