"""``TemporalRequestHandler``: the A2A operations, answered from task logs.

It holds no task state. What it knows of a task it reads from the log; what it wants of a task it
writes into the log, as a workflow start, a signal or a cancel request.
"""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import request_handler as sdk
from a2a.types.a2a_pb2 import (
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
    TaskState,
)
from a2a.utils.errors import (
    InternalError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length, validate_history_length
from temporalio.client import Client

from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart, now_text
from a2a_temporal._log.fold import with_message
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.state import TERMINAL_STATES, LogState, begin
from a2a_temporal._server import push_configs
from a2a_temporal._server.call import Caller, TenantRequest, caller, describe_call
from a2a_temporal._server.cards import asking, extended_card
from a2a_temporal._server.checks import check_message, check_task_id
from a2a_temporal._server.decorators import requires, validated
from a2a_temporal._server.engine_errors import UNAVAILABLE
from a2a_temporal._server.follower import LogEvent, Reader
from a2a_temporal._server.listing import Listing
from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._server.plain import PlainWorkflow
from a2a_temporal._server.push_configs import PushConfigs
from a2a_temporal._server.resume import Resumption, declared, following
from a2a_temporal._server.tasks import Tasks, ended

_STREAMING = "This agent does not stream: its card says capabilities.streaming = false."


@dataclass(frozen=True)
class _Sent:
    """A message that is part of a task, and a reader of what it makes.

    Attributes:
        reader: Stands where the message entered the log, or before.
        turn: The turn that the message opens.
        before: The Task as it was when the message entered it.
        answered: The message was sent before and has been answered.
    """

    reader: Reader
    turn: int
    before: Task
    answered: bool = False


def _pushes(handler: "TemporalRequestHandler") -> bool:
    return handler.agent_card.capabilities.push_notifications


class TemporalRequestHandler(sdk.RequestHandler):
    """Serve an agent's tasks from Temporal; takes the place of ``DefaultRequestHandler``.

    Any number of processes may serve the same agent. Every accepted message is durable when the
    call returns, with or without a running worker.

    Args:
        client: Connected (or lazy) Temporal client.
        agent_card: The public card; its capabilities decide which operations are offered.
        task_queue: The task queue the agent's workers listen on.
        workflow: The workflow that is the agent: a class with a ``TaskRun``, its name, or a
            :class:`~a2a_temporal.PlainWorkflow` that knows nothing of A2A. By default the built-in
            one, which runs the worker's ``AgentExecutor``.
        options: See :class:`~a2a_temporal.HandlerOptions`.

    Raises:
        ValueError: The card promises what this handler is not configured to keep.
    """

    def __init__(
        self,
        client: Client,
        *,
        agent_card: AgentCard,
        task_queue: str,
        workflow: type[Any] | str | PlainWorkflow = wire.AGENT_WORKFLOW,
        options: HandlerOptions | None = None,
    ) -> None:
        self.client = client
        card = asking(agent_card) if isinstance(workflow, type) else agent_card
        self.agent_card = declared(card)
        self._options = options or HandlerOptions()
        self._agent = self._options.agent or agent_card.name
        _check_configuration(agent_card, task_queue, self._agent)
        if agent_card.capabilities.push_notifications and isinstance(workflow, PlainWorkflow):
            raise ValueError(
                "The agent card declares push_notifications, which a workflow that knows nothing "
                "of A2A cannot start. Set capabilities.push_notifications = False."
            )
        self._tasks = Tasks(
            client,
            agent=self._agent,
            task_queue=task_queue,
            workflow=_workflow_name(workflow),
            options=self._options,
        )
        self._push_configs = PushConfigs(client, options=self._options)
        self._listing = Listing(client, self._tasks, read_timeout=self._options.read_timeout)

    async def start(self) -> None:
        """Register the search attributes where permitted; otherwise done with the first task.

        Raises:
            InternalError: Temporal cannot be reached now.
        """
        await self._tasks.start()

    async def aclose(self) -> None:
        """End open streams without a terminal event; their tasks go on."""
        await self._tasks.aclose()

    # ------------------------------------------------------------------ send

    @validated
    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Send a message; wait for the answer unless asked not to (section 3.1.1)."""
        async with self._sent(params, context) as sent:
            if params.configuration.return_immediately:
                await self._first_word(sent)
            else:
                await self._wait(
                    sent.reader,
                    lambda state: state.settled(sent.turn),
                    self._options.blocking_limit,
                )
            return _answer(sent.reader, params)

    @validated
    @requires(lambda self: self.agent_card.capabilities.streaming, _STREAMING)
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Send a message and stream what its turn makes (section 3.1.2)."""
        places = Resumption.of(context)
        async with self._sent(params, context) as sent:
            await self._first_word(sent)
            if sent.reader.state.reply is not None:
                yield sent.reader.state.reply
                return
            before = apply_history_length(sent.before, params.configuration)
            yield places.stamped(before, sent.reader.taken)
            if sent.answered:
                return
            async for event in sent.reader.events(lambda state: state.waits_for(sent.turn)):
                yield places.stamped(_trimmed(event.event, params), event.cursor)
                if _ends_turn(event, sent.turn):
                    return

    # ------------------------------------------------------------------ read

    @validated
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        """Return a task as its log says it is (section 3.1.3)."""
        validate_history_length(params)
        state = await self._tasks.read(self._caller(params, context), params.id)
        return apply_history_length(state.task, params)

    @validated
    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """List the caller's tasks (section 3.1.4)."""
        return await self._listing.page(self._caller(params, context), params)

    @validated
    @requires(lambda self: self.agent_card.capabilities.streaming, _STREAMING)
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Stream a task from now, or from where the caller lost it, to its end (section 3.1.6)."""
        scope = self._caller(params, context)
        places = Resumption.of(context)
        state = await self._tasks.read(scope, params.id)
        if state.terminal and places.after is None:
            raise _nothing_to_stream(state)
        async with self._tasks.follow(scope, params.id) as reader:
            await self._catch_up(reader, state)
            missed = await self._tasks.events_after(params.id, places.after)
            if reader.state.terminal and not missed:
                raise _nothing_to_stream(reader.state)
            if missed is None:
                task = reader.snapshot()
                yield places.stamped(task, reader.taken)
            async for event in following(reader, missed or []):
                yield places.stamped(event.event, event.cursor)
                if _ends_task(event):
                    return

    # ---------------------------------------------------------------- cancel

    @validated
    async def on_cancel_task(
        self, params: CancelTaskRequest, context: ServerCallContext
    ) -> Task | None:
        """Cancel a task and wait a while for its agent to stop (section 3.1.5).

        The request is durable: a task that could not stop in time is returned as it is, and is
        canceled later without a further call.
        """
        scope = self._caller(params, context)
        state = await self._tasks.read(scope, params.id)
        if state.terminal:
            raise TaskNotCancelableError
        await self._tasks.cancel(params.id)
        async with self._tasks.follow(scope, params.id) as reader:
            await self._wait(reader, lambda now: now.terminal, self._options.cancel_wait)
            await self._catch_up(reader, state)
            task = reader.snapshot()
        if reader.state.terminal and task.status.state != TaskState.TASK_STATE_CANCELED:
            raise TaskNotCancelableError
        return task

    # ------------------------------------------------------ push notification

    @validated
    @requires(_pushes, push_configs.UNSUPPORTED, PushNotificationNotSupportedError)
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Have a receiver told of a task's events from now on (section 3.1.7)."""
        scope = self._caller(params, context)
        state = await self._tasks.read(scope, params.task_id)
        config = await self._push_configs.checked(params, state)
        await self._push_configs.set(state, config)
        return push_configs.shown(state, config)

    @validated
    @requires(_pushes, push_configs.UNSUPPORTED, PushNotificationNotSupportedError)
    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Return one config of a task (section 3.1.8)."""
        state = await self._tasks.read(self._caller(params, context), params.task_id)
        return push_configs.found(state, params.id)

    @validated
    @requires(_pushes, push_configs.UNSUPPORTED, PushNotificationNotSupportedError)
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return a task's configs (section 3.1.9)."""
        state = await self._tasks.read(self._caller(params, context), params.task_id)
        return push_configs.page(state, params)

    @validated
    @requires(_pushes, push_configs.UNSUPPORTED, PushNotificationNotSupportedError)
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Tell a receiver no more, though it may not know of anything (section 3.1.10)."""
        state = await self._tasks.read(self._caller(params, context), params.task_id)
        await self._push_configs.delete(state, params.id)

    # ------------------------------------------------------------------ card

    @validated
    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Return what an authenticated caller may know of the agent (section 3.1.11)."""
        return await extended_card(
            self.agent_card,
            self._options.extended_agent_card,
            self._options.extended_card_modifier,
            context,
        )

    # --------------------------------------------------------------- helpers

    def _caller(self, params: TenantRequest, context: ServerCallContext) -> Caller:
        return caller(params, context, self._agent, self._options)

    @contextlib.asynccontextmanager
    async def _sent(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[_Sent]:
        """Check a message, write it into the log of its task, and follow what it makes."""
        check_message(params, context, self.agent_card)
        scope = self._caller(params, context)
        request = describe_call(params, context, self._options)
        message = Message()
        message.CopyFrom(params.message)
        push = push_configs.attached(params)
        if message.task_id and not await self._names_new_task(scope, message):
            following = self._sent_to_task(scope, message, request, push)
        else:
            following = self._sent_as_task(scope, message, request, push)
        async with following as sent:
            yield sent

    async def _names_new_task(self, scope: Caller, message: Message) -> bool:
        """Say whether a message may, and does, name the task that it is to make."""
        if not self._options.client_task_ids or await self._tasks.exists(scope, message.task_id):
            return False
        check_task_id(message.task_id)
        return True

    @contextlib.asynccontextmanager
    async def _sent_as_task(
        self,
        scope: Caller,
        message: Message,
        request: dict[str, Any],
        push: TaskPushNotificationConfig | None,
    ) -> AsyncGenerator[_Sent]:
        """Begin a task with a message, or find the one that the same message began before."""
        config = push and await self._push_configs.checked(push, None)
        repeatable = self._options.idempotent_sends
        made = scope.task_id(message.message_id) if repeatable else str(uuid.uuid4())
        start = TaskStart(
            task_id=message.task_id or made,
            context_id=message.context_id or str(uuid.uuid4()),
            agent=scope.agent,
            message=to_json(message),
            owner=scope.owner,
            tenant=scope.tenant,
            request=request,
            at=now_text(datetime.now(timezone.utc)),
            push_config=to_json(config) if config else None,
        )
        known = await self._tasks.create(scope, start)
        async with self._tasks.follow(scope, start.task_id, from_start=known is None) as reader:
            if known is None:
                yield _Sent(reader, 1, begin(start).task)
            else:
                await self._catch_up(reader, known)
                if push:
                    await self._push_configs.add(reader.state, push)
                yield _Sent(reader, 1, reader.snapshot(), reader.state.settled(1))

    @contextlib.asynccontextmanager
    async def _sent_to_task(
        self,
        scope: Caller,
        message: Message,
        request: dict[str, Any],
        push: TaskPushNotificationConfig | None,
    ) -> AsyncGenerator[_Sent]:
        """Send a further message; followed from before it, so that nothing it makes is missed."""
        state = await self._tasks.read(scope, message.task_id)
        if message.context_id and message.context_id != state.task.context_id:
            raise InvalidParamsError(
                f"Task {message.task_id} belongs to context {state.task.context_id!r}, the message "
                f"names {message.context_id!r}. Name the task's own, or none."
            )
        if state.terminal and message.message_id not in state.accepted:
            raise ended(state)
        config = push and await self._push_configs.checked(push, state)
        async with self._tasks.follow(scope, message.task_id) as reader:
            await self._catch_up(reader, state)
            before = reader.snapshot()
            known = await self._tasks.send(state, message, request, config)
            turn = await self._turn_of(reader, message)
            if known:
                if push:
                    await self._push_configs.add(reader.state, push)
                yield _Sent(reader, turn, reader.snapshot(), reader.state.settled(turn))
            else:
                yield _Sent(reader, turn, with_message(before, message))

    async def _turn_of(self, reader: Reader, message: Message) -> int:
        """Wait until a sent message shows in the log and return the turn it opens.

        Raises:
            UnsupportedOperationError: The task ended before the message reached it.
            InternalError: The log cannot be read now; the message may be sent again.
        """
        await self._wait(
            reader,
            lambda state: message.message_id in state.accepted or state.terminal,
            self._options.read_timeout,
        )
        accepted = reader.state.accepted.get(message.message_id)
        if accepted is not None:
            return accepted.turn
        if reader.state.terminal:
            raise ended(reader.state)
        raise InternalError(UNAVAILABLE)

    async def _catch_up(self, reader: Reader, state: LogState) -> None:
        """Let a log that has not been read for a while reach what was just read of it."""
        newer = state.entries
        await self._wait(reader, lambda now: now.entries >= newer, self._options.read_timeout)

    async def _first_word(self, sent: _Sent) -> None:
        """Give an agent that answers with a direct Message a moment to do so."""
        if sent.turn == 1 and not sent.reader.state.start.plain:
            await self._wait(
                sent.reader,
                lambda state: state.turn > 0 or state.status_turn > 0,
                self._options.direct_message_wait,
            )

    async def _wait(
        self, reader: Reader, reached: Callable[[LogState], bool], limit: timedelta | None
    ) -> None:
        """Return once the log has reached a point, the limit has passed, or the log ends."""
        loop = asyncio.get_running_loop()
        until = None if limit is None else loop.time() + limit.total_seconds()
        while not reached(reader.state) and not reader.ended:
            left = None if until is None else until - loop.time()
            if left is not None and left <= 0:
                return
            try:
                await asyncio.wait_for(reader.changed(), left)
            except (TimeoutError, asyncio.TimeoutError):
                return


def _workflow_name(workflow: type[Any] | str | PlainWorkflow) -> str | PlainWorkflow:
    if isinstance(workflow, (str, PlainWorkflow)):
        return workflow
    definition = getattr(workflow, "__temporal_workflow_definition", None)
    name = getattr(definition, "name", None)
    if not name:
        raise TypeError(
            f"workflow={workflow!r} is no workflow. Pass a class decorated with @workflow.defn, "
            "or the name of a workflow type."
        )
    return str(name)


def _check_configuration(card: AgentCard, task_queue: str, agent: str) -> None:
    if not agent:
        raise ValueError("The agent card has no name. Set AgentCard.name or HandlerOptions.agent.")
    if not task_queue:
        raise ValueError("task_queue is empty. Name the queue that the agent's workers listen on.")


def _answer(reader: Reader, params: SendMessageRequest) -> Task | Message:
    if reader.state.reply is not None:
        return reader.state.reply
    return apply_history_length(reader.snapshot(), params.configuration)


def _trimmed(event: Event, params: SendMessageRequest) -> Event:
    if isinstance(event, Task):
        return apply_history_length(event, params.configuration)
    return event


def _ends_task(event: LogEvent) -> bool:
    return event.state in TERMINAL_STATES


def _ends_turn(event: LogEvent, turn: int) -> bool:
    asks = event.state == TaskState.TASK_STATE_INPUT_REQUIRED and event.turn >= turn
    return asks or _ends_task(event)


def _nothing_to_stream(state: LogState) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"Task {state.task.id} has ended; there is nothing left to stream. Read it with GetTask."
    )
