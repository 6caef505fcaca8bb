"""A request handler without Temporal, to test the HTTP layer alone."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import RequestHandler
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
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
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import TaskNotFoundError
from starlette.applications import Starlette

from a2a_temporal import HandlerOptions, connect, create_app
from a2a_temporal._server.errors import UnavailableError

SECRET = "password=hunter2 at /srv/secret"


class StubHandler(RequestHandler):
    """Does what the text of a message (or the id of a task) says.

    `boom` raises an exception that no client may read; `silent` keeps a stream open, and a sender
    waiting; `slow` makes a sender wait for the gate; of `quiet` a stream tells nothing at all.
    """

    def __init__(self, client: object) -> None:
        self.client = client
        self.options = HandlerOptions()
        self.agent_card = AgentCard(
            name="stub",
            description="Answers without Temporal.",
            version="1.0.0",
            supported_interfaces=[
                AgentInterface(
                    url="http://stub", protocol_binding=binding, protocol_version=version
                )
                for binding in ("JSONRPC", "HTTP+JSON")
                for version in ("1.0", "0.3")
            ],
            capabilities=AgentCapabilities(streaming=True),
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
        )
        self.metadata: dict[str, Any] = {}
        self.task_queue = "stub"
        self.started = 0
        self.closed = 0
        self.contexts: list[ServerCallContext] = []
        self.messages: list[Message] = []
        self.gate = asyncio.Event()
        self.waiting = 0
        self.finished = 0

    async def start(self) -> None:
        """Count."""
        self.started += 1

    async def aclose(self) -> None:
        """Count."""
        self.closed += 1

    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        self.contexts.append(context)
        self.messages.append(params.message)
        _check(_text(params))
        if _text(params) in ("silent", "slow"):
            await self._wait_for(self.gate if _text(params) == "slow" else asyncio.Event())
        return Message(message_id="m", role=Role.ROLE_AGENT, parts=[Part(text=_text(params))])

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        self.contexts.append(context)
        self.messages.append(params.message)
        async for event in _stream(_text(params)):
            yield event

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        self.contexts.append(context)
        _check(params.id)
        return self._shown(params.id, TaskState.TASK_STATE_WORKING)

    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        return ListTasksResponse(
            tasks=[self._shown("t", TaskState.TASK_STATE_WORKING)], page_size=50
        )

    async def on_cancel_task(
        self, params: CancelTaskRequest, context: ServerCallContext
    ) -> Task | None:
        raise TaskNotFoundError

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        if params.id == "quiet":
            await self._wait_for(asyncio.Event())
        async for event in _stream(params.id):
            if isinstance(event, Task):
                event.metadata.update(self.metadata)
            yield event

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        raise RuntimeError(SECRET)

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        raise RuntimeError(SECRET)

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        raise RuntimeError(SECRET)

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        raise RuntimeError(SECRET)

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        raise RuntimeError(SECRET)

    def _shown(self, task_id: str, state: TaskState) -> Task:
        task = _task(task_id, state)
        task.metadata.update(self.metadata)
        if not self.metadata:
            task.ClearField("metadata")
        return task

    async def _wait_for(self, event: asyncio.Event) -> None:
        self.waiting += 1
        try:
            await event.wait()
            self.finished += 1
        finally:
            self.waiting -= 1


async def stub_app(*, temporal_address: str = "127.0.0.1:9", **options: Any) -> Starlette:
    """Build the app around a stub, with a client that connects only when it is used."""
    return create_app(await stub_handler(temporal_address), **options)


async def stub_handler(temporal_address: str = "127.0.0.1:9") -> Any:
    """Return a stub; by its type it is what `create_app` takes."""
    client = await connect(address=temporal_address, lazy=True, env={})
    return cast("Any", StubHandler(client))


async def _stream(text: str) -> AsyncGenerator[Event]:
    _check(text)
    yield _task("t", TaskState.TASK_STATE_WORKING)
    if text == "silent":
        await asyncio.Event().wait()
    if text == "late boom":
        raise ValueError(SECRET)
    yield TaskStatusUpdateEvent(
        task_id="t", context_id="c", status=TaskStatus(state=TaskState.TASK_STATE_COMPLETED)
    )


def _task(task_id: str, state: TaskState) -> Task:
    return Task(id=task_id, context_id="c", status=TaskStatus(state=state))


def _check(text: str) -> None:
    if text == "boom":
        raise ValueError(SECRET)
    if text == "unavailable":
        raise UnavailableError


def _text(params: SendMessageRequest) -> str:
    return params.message.parts[0].text
