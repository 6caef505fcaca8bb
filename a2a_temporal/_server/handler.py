"""``TemporalRequestHandler``: the A2A operations, answered from task logs.

It holds no task state. It reads tasks from their logs, and changes them by entries in their logs:
a workflow start, a signal or a cancel request.
"""

import contextlib
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial
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
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length, validate_history_length
from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal._gateway import is_closed_workflow, with_deadline
from a2a_temporal._log import wire
from a2a_temporal._log.state import TERMINAL_STATES, LogState
from a2a_temporal._reading.position import LogEvent, LogPosition
from a2a_temporal._sdk_logs import keep_bodies_out_of_logs
from a2a_temporal._server import push_answers
from a2a_temporal._server.caller import Caller, TenantRequest, caller_of
from a2a_temporal._server.cards import asking, extended_card
from a2a_temporal._server.errors import errors_of_temporal, not_found
from a2a_temporal._server.feed import Subscription
from a2a_temporal._server.listing import Listing
from a2a_temporal._server.operation import entered, operation
from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._server.plain import PlainWorkflow
from a2a_temporal._server.push_configs import PushConfigs
from a2a_temporal._server.resume import Resumption, declared, following
from a2a_temporal._server.sending import Sending, Sent
from a2a_temporal._server.tasks import Tasks, wait_until
from a2a_temporal._server.validation import check_texts, first_message

_ConfigRequest = (
    TaskPushNotificationConfig
    | GetTaskPushNotificationConfigRequest
    | ListTaskPushNotificationConfigsRequest
    | DeleteTaskPushNotificationConfigRequest
)


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
        ValueError: The card declares something that this handler is not configured for.
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
        keep_bodies_out_of_logs()
        self.client: Client = client
        self.task_queue: str = task_queue
        card = asking(agent_card) if isinstance(workflow, type) else agent_card
        self.agent_card: AgentCard = declared(card)
        self.options: HandlerOptions = options or HandlerOptions()
        self._agent = self.options.agent or agent_card.name
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
            workflow=workflow_name(workflow),
            options=self.options,
        )
        self._push_configs = PushConfigs(
            client, self._tasks, task_queue=task_queue, options=self.options
        )
        self._sending = Sending(
            self._tasks, self._push_configs, card=self.agent_card, options=self.options
        )
        self._listing = Listing(client, self._tasks, options=self.options)

    async def start(self) -> None:
        """Register the search attributes where permitted; otherwise done with the first task.

        Raises:
            InternalError: Temporal cannot be reached now.
        """
        with errors_of_temporal():
            await self._tasks.attributes.ensure()

    async def aclose(self) -> None:
        """End open streams without a terminal event; their tasks go on."""
        await self._tasks.aclose()

    async def start_task(
        self,
        message: Message | str,
        *,
        owner: str = "",
        tenant: str = "",
        context_id: str = "",
        task_id: str = "",
        metadata: Mapping[str, Any] | None = None,
        push_config: TaskPushNotificationConfig | None = None,
    ) -> Task:
        """Begin a task that no client has asked for: after a webhook, by a schedule, for a batch.

        It is a task like any other: its owner lists, reads, answers and cancels it. The task is
        durable when the call returns. The caller is trusted: nothing is authenticated here.

        Args:
            message: The first message, or its text. Repeated with the same ``message_id``, owner
                and tenant, it begins nothing and the task it made is returned; without an id it
                gets a new one.
            owner: Whose task it is, as ``HandlerOptions.owner_of`` names callers; empty for the
                owner that all anonymous callers share.
            tenant: The A2A tenant.
            context_id: The conversation it belongs to; a new one by default.
            task_id: The id of the task, which is the workflow id; derived or made by default.
            metadata: Of the request, as the agent's ``RequestContext.metadata``.
            push_config: A receiver of the task's events.

        Returns:
            The task: SUBMITTED, or as it is now when it was begun before.

        Raises:
            InvalidParamsError: The message cannot begin a task, or its id was used for another one.
            PushNotificationNotSupportedError: The card does not declare push notifications.
            UnavailableError: Temporal cannot be reached now; the call may be repeated.
        """
        check_texts(owner=owner, tenant=tenant, context_id=context_id, task_id=task_id)
        first = first_message(message)
        first.role = Role.ROLE_USER
        first.message_id = first.message_id or str(uuid.uuid4())
        first.context_id = context_id or first.context_id
        first.task_id = task_id or first.task_id
        if not first.parts:
            raise InvalidParamsError("message has no parts. Give it at least one.")
        if push_config is not None and not self.agent_card.capabilities.push_notifications:
            raise PushNotificationNotSupportedError
        request: dict[str, Any] = {"user": owner, "authenticated": True} if owner else {}
        if metadata:
            request["metadata"] = dict(metadata)
        caller = Caller(self._agent, owner, tenant)
        with errors_of_temporal():
            return await with_deadline(
                self.options.answered_within,
                self._sending.start(caller, first, request, push_config),
            )

    # ------------------------------------------------------------------ send

    @operation(bounded=False)
    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Send a message; wait for the answer unless asked not to (section 3.1.1)."""
        at_once = params.configuration.return_immediately
        waits = self.options.direct_message_wait if at_once else self.options.blocking_limit
        async with self._sent(params, context, waits) as sent:
            await (sent.first_word(waits) if at_once else sent.answer(waits))
            return _answer(sent.reader, params)

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Send a message and stream the events of its turn (section 3.1.2)."""
        async with contextlib.aclosing(self.message_events(params, context)) as streamed:
            async for events in streamed:
                for event in events:
                    yield event.event

    @operation(needs="streaming")
    async def message_events(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[list[LogEvent], None]:
        """Yield the events of ``on_message_send_stream`` in batches, with their places."""
        places, waits = Resumption.of(context), self.options.direct_message_wait
        async with self._sent(params, context, waits) as sent:
            await sent.first_word(waits)
            reply = sent.reader.state.reply
            if reply is not None:
                yield [LogEvent(sent.reader.taken, reply, sent.turn)]
                return
            before = apply_history_length(sent.before(), params.configuration)
            over = sent.repeated and sent.answered
            yield [places.stamped(LogEvent(sent.reader.taken, before, sent.turn))]
            if over:
                return
            made = sent.reader.events(lambda state: state.waits_for(sent.turn))
            async for events in _until(partial(_ends_turn, sent.turn), made):
                yield [places.stamped(_trimmed(event, params)) for event in events]

    def _sent(
        self, params: SendMessageRequest, context: ServerCallContext, waits: timedelta | None
    ) -> AbstractAsyncContextManager[Sent]:
        sent = self._sending.sent(self._caller(params, context), params, context, waits=waits)
        return entered(self.options.answered_within, sent)

    # ------------------------------------------------------------------ read

    @operation()
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        """Return a task as its log says it is (section 3.1.3)."""
        validate_history_length(params)
        state = await self._tasks.read(self._caller(params, context), params.id)
        return apply_history_length(state.task, params)

    @operation(bounded=False)
    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """List the caller's tasks (section 3.1.4)."""
        return await self._listing.page(self._caller(params, context), params)

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Stream a task from now, or from where the caller lost it, to its end (section 3.1.6)."""
        async with contextlib.aclosing(self.task_events(params, context)) as streamed:
            async for events in streamed:
                for event in events:
                    yield event.event

    @operation(needs="streaming")
    async def task_events(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[list[LogEvent], None]:
        """Yield the events of ``on_subscribe_to_task`` in batches, with their places."""
        places = Resumption.of(context)
        subscribed = self._subscribed(self._caller(params, context), params.id, places.after)
        async with entered(self.options.answered_within, subscribed) as (reader, missed):
            if missed is None:
                yield [places.stamped(_snapshot(reader))]
            async for events in _until(_ends_task, following(reader, missed or [])):
                yield [places.stamped(event) for event in events]

    @contextlib.asynccontextmanager
    async def _subscribed(
        self, caller: Caller, task_id: str, after: LogPosition | None
    ) -> AsyncGenerator[tuple[Subscription, list[LogEvent] | None]]:
        """Follow a task from now, and find the events behind a cursor, if there is a usable one."""
        state = await self._tasks.read(caller, task_id)
        if state.terminal and after is None:
            raise _nothing_to_stream(state)
        async with self._tasks.follow(caller, task_id, state) as reader:
            missed = await self._tasks.events_after(reader, after)
            if reader.state.terminal and not missed:
                raise _nothing_to_stream(reader.state)
            yield reader, missed

    # ---------------------------------------------------------------- cancel

    @operation(bounded=False)
    async def on_cancel_task(
        self, params: CancelTaskRequest, context: ServerCallContext
    ) -> Task | None:
        """Cancel a task and wait a while for its agent to stop (section 3.1.5).

        The request is durable: a task that could not stop in time is returned as it is, and is
        canceled later without a further call.
        """
        canceling = self._canceling(self._caller(params, context), params.id)
        async with entered(self.options.answered_within, canceling) as reader:
            await wait_until(reader, lambda now: now.terminal, self.options.cancel_wait)
            task = reader.snapshot()
        if reader.state.terminal and task.status.state != TaskState.TASK_STATE_CANCELED:
            raise TaskNotCancelableError
        return task

    @contextlib.asynccontextmanager
    async def _canceling(self, caller: Caller, task_id: str) -> AsyncGenerator[Subscription]:
        """Request the cancel of a task, and follow its log."""
        state = await self._tasks.read(caller, task_id)
        if not caller.owns(state):
            raise TaskNotCancelableError(
                f"Only the owner of task {task_id} may cancel it. Answer what you are asked."
            )
        if state.terminal:
            raise TaskNotCancelableError
        try:
            await self._tasks.temporal.cancel(task_id)
        except RPCError as error:
            if not is_closed_workflow(error):  # then its log shows how it has ended
                raise
        async with self._tasks.follow(caller, task_id, state) as reader:
            yield reader

    # ------------------------------------------------------ push notification

    @operation(needs="push_notifications")
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Deliver a task's events to a receiver from now on (section 3.1.7).

        The config of a finished task is kept, and nothing is delivered to it.
        """
        state = await self._with_configs(params, context)
        config = await self._push_configs.checked(params, state)
        await self._push_configs.set(state, config)
        answer = push_answers.complete(state, params)
        answer.id = config.id
        return answer

    @operation(needs="push_notifications")
    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Return one config of a task (section 3.1.8)."""
        state = await self._with_configs(params, context)
        in_clear = self.options.push.show_secrets
        return push_answers.found(state, params.id, in_clear=in_clear)

    @operation(needs="push_notifications")
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """Return a task's configs (section 3.1.9)."""
        state = await self._with_configs(params, context)
        in_clear = self.options.push.show_secrets
        return push_answers.page(state, params, in_clear=in_clear)

    @operation(needs="push_notifications")
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Deliver nothing more to a receiver; it need not exist (section 3.1.10)."""
        state = await self._with_configs(params, context)
        await self._push_configs.delete(state, params.id)

    # ------------------------------------------------------------------ card

    @operation()
    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Return the card for authenticated callers (section 3.1.11)."""
        return await extended_card(
            self.agent_card,
            self.options.extended_agent_card,
            self.options.extended_card_modifier,
            context,
        )

    # --------------------------------------------------------------- helpers

    async def _with_configs(self, params: _ConfigRequest, context: ServerCallContext) -> LogState:
        """Return a task with the push configs it has now; they are for its owner's eyes only.

        Raises:
            TaskNotFoundError: The caller has no such task.
        """
        caller = self._caller(params, context)
        state = await self._tasks.read(caller, params.task_id)
        if not caller.owns(state):
            raise not_found(params.task_id)
        return await self._push_configs.known(state)

    def _caller(self, params: TenantRequest, context: ServerCallContext) -> Caller:
        return caller_of(params, context, self._agent, self.options)


def workflow_name(workflow: object) -> str | PlainWorkflow:
    """Return the workflow type to start, or the existing workflow as it was given.

    Raises:
        TypeError: It is no workflow.
    """
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


def _answer(reader: Subscription, params: SendMessageRequest) -> Task | Message:
    if reader.state.reply is not None:
        return reader.state.reply
    return apply_history_length(reader.snapshot(), params.configuration)


def _trimmed(event: LogEvent, params: SendMessageRequest) -> LogEvent:
    if isinstance(event.event, Task) and params.configuration.HasField("history_length"):
        task = apply_history_length(event.event, params.configuration)
        return LogEvent(event.position, task, event.turn)
    return event


async def _until(
    is_last: Callable[[LogEvent], bool], batches: AsyncIterator[list[LogEvent]]
) -> AsyncIterator[list[LogEvent]]:
    """Yield events up to and with the last one; none is kept while more is waited for."""
    async for events in batches:
        for number, event in enumerate(events, start=1):
            if is_last(event):
                yield events[:number]
                return
        yield events
        events.clear()


def _snapshot(reader: Subscription) -> LogEvent:
    task = reader.snapshot()
    return LogEvent(reader.taken, task, reader.state.status_turn)


def _ends_task(event: LogEvent) -> bool:
    return event.state in TERMINAL_STATES


def _ends_turn(turn: int, event: LogEvent) -> bool:
    asks = event.state == TaskState.TASK_STATE_INPUT_REQUIRED and event.turn >= turn
    return asks or _ends_task(event)


def _nothing_to_stream(state: LogState) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"Task {state.task.id} has ended; there is nothing left to stream. Read it with GetTask."
    )
