"""Protocol version 0.3 on the same tasks: what the SDK's adapters leave open, for every binding."""

from collections.abc import AsyncIterable

from a2a.compat.v0_3 import types as v0_3
from a2a.compat.v0_3.request_handler import RequestHandler03
from a2a.server.context import ServerCallContext
from a2a.utils.errors import TaskNotFoundError


class CompatHandler(RequestHandler03):
    """The SDK's translation from 0.3 to 1.0, mended where it does not say what 0.3 wants."""

    async def on_message_send_stream(
        self, request: v0_3.SendMessageRequest, context: ServerCallContext
    ) -> AsyncIterable[v0_3.SendStreamingMessageSuccessResponse]:
        """Stream; a question is the last event of its stream, so it says so (``final``)."""
        async for response in super().on_message_send_stream(request, context):
            event = response.result
            if isinstance(event, v0_3.TaskStatusUpdateEvent):
                event.final |= event.status.state == v0_3.TaskState.input_required
            yield response

    async def on_get_task_push_notification_config(
        self, request: v0_3.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> v0_3.TaskPushNotificationConfig:
        """Get a config; one that is not named is the task's first.

        Raises:
            TaskNotFoundError: There is none.
        """
        params = request.params
        if getattr(params, "push_notification_config_id", None):
            return await super().on_get_task_push_notification_config(request, context)
        configs = await self.on_list_task_push_notification_configs(
            v0_3.ListTaskPushNotificationConfigRequest(
                id=request.id, params=v0_3.ListTaskPushNotificationConfigParams(id=params.id)
            ),
            context,
        )
        if not configs:
            raise TaskNotFoundError
        return configs[0]
