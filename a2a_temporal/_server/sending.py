"""Write a message into the log of a new or an existing task, and follow the log from there."""

import contextlib
import uuid
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import (
    AgentCard,
    Message,
    SendMessageRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from a2a.utils.input_mode_validator import validate_input_modes
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from a2a_temporal._aside import done
from a2a_temporal._gateway import is_closed_workflow, is_outgrown_workflow
from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart, entry_time
from a2a_temporal._log.fold import with_message
from a2a_temporal._log.indexing import start_attributes
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.state import LogState, begin, begins_as, state_name
from a2a_temporal._server import push_configs
from a2a_temporal._server.caller import Caller, describe_call
from a2a_temporal._server.errors import UnavailableError, not_found
from a2a_temporal._server.feed import Subscription
from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._server.push_configs import PushConfigs
from a2a_temporal._server.tasks import SHOWN_WITHIN, Tasks, wait_until
from a2a_temporal._server.validation import (
    as_first_message,
    check_answers,
    check_content,
    check_context,
    check_message,
    check_same,
    check_size,
    check_task_id,
)

_MESSAGES = uuid.UUID("6f0a5c1e-6d0b-4d0e-9d5e-0f3d1b0c2a77")
_SUMMARY_CHARACTERS = 120
_MESSAGES_A_RUN = 5_000  # of the 10,000 signals that Temporal takes; an agent needs the others
_LARGEST_IN_HISTORY = 1_400_000
_LARGEST_STORED_OUTSIDE = 20_000_000


@dataclass(frozen=True)
class Sent:
    """A message in the log of its task, and a reader of the log from there on.

    Attributes:
        reader: Stands where the message entered the log, or before.
        turn: The turn that the message opens.
        before: Makes the Task as it was when the message entered it.
        repeated: The message was sent before.
    """

    reader: Subscription
    turn: int
    before: Callable[[], Task]
    repeated: bool = False

    @property
    def answered(self) -> bool:
        """True once the agent has answered the message."""
        state = self.reader.state
        return state.settled(self.turn) if self.repeated else state.was_settled(self.turn)

    async def answer(self, limit: timedelta | None) -> None:
        """Wait until the agent has answered the message, or the limit has passed."""
        self.reader.skip_all()
        await wait_until(self.reader, lambda _: self.answered, limit)

    async def first_word(self, limit: timedelta | None) -> None:
        """Give an agent that answers with a direct Message a moment to do so."""
        if self.turn == 1 and not self.reader.state.start.plain:
            await wait_until(
                self.reader, lambda state: state.turn > 0 or state.status_turn > 0, limit
            )


class Sending:
    """The way of a message into a log.

    Args:
        tasks: The agent's tasks.
        configs: Their push configs.
        card: The public card.
        options: The handler's options.
    """

    def __init__(
        self, tasks: Tasks, configs: PushConfigs, *, card: AgentCard, options: HandlerOptions
    ) -> None:
        self._tasks = tasks
        self._push_configs = configs
        self._card = card
        self._options = options
        stored_outside = tasks.temporal.client.data_converter.external_storage is not None
        self._largest_message = options.maximum_message_bytes or (
            _LARGEST_STORED_OUTSIDE if stored_outside else _LARGEST_IN_HISTORY
        )

    @contextlib.asynccontextmanager
    async def sent(
        self,
        caller: Caller,
        params: SendMessageRequest,
        context: ServerCallContext,
        *,
        waits: timedelta | None,
    ) -> AsyncGenerator[Sent]:
        """Check a message, write it into the log of its task, and follow the log from there.

        Args:
            caller: The caller.
            params: The request.
            context: The call.
            waits: How long the caller waits for a direct Message before it learns of a task.
        """
        await done(params.ByteSize(), check_message, params, context, self._card)
        if self._options.validate_input_modes:
            validate_input_modes(params.message, self._card)
        request = describe_call(params, context, self._options)
        message = Message()
        message.CopyFrom(params.message)
        push = push_configs.attached(params)
        if message.task_id and not await self._names_new_task(caller, message):
            caller, state = await self._task_of(caller, message)
            message, request = self._checked(caller, state, message, request)
            config = push and await self._checked_config(caller, state, push)
            async with self._tasks.follow(caller, state.task.id, state) as reader:
                sent = await self._further(reader, state, message, request, config)
                yield await self._with_config(sent, push)
        else:
            request[wire.WAITS] = waits.total_seconds() if waits is not None else None
            start, known = await self._begun(caller, message, request, push)
            async with self._tasks.follow(caller, start.task_id, known) as reader:
                if known is None:
                    yield Sent(reader, 1, lambda: begin(start).task)
                else:
                    sent = Sent(reader, 1, reader.snapshot, repeated=True)
                    yield await self._with_config(sent, push)

    async def _with_config(self, sent: Sent, push: TaskPushNotificationConfig | None) -> Sent:
        """Set the config that came with a message which was sent before."""
        if push and sent.repeated:
            await self._push_configs.add(sent.reader.state, push)
        return sent

    # ---------------------------------------------------------- a new task

    async def start(
        self,
        caller: Caller,
        message: Message,
        request: dict[str, Any],
        push: TaskPushNotificationConfig | None,
    ) -> Task:
        """Begin a task for somebody whose request is not under way; see the handler's method."""
        check_content(message)
        if message.task_id:
            check_task_id(message.task_id)
        start, known = await self._begun(caller, message, request, push)
        return (known or begin(start)).copy_task()

    async def _names_new_task(self, caller: Caller, message: Message) -> bool:
        """Say whether a message may, and does, name the task that it is to make."""
        allowed = self._options.client_task_ids
        if not allowed:
            return False
        with contextlib.suppress(TaskNotFoundError):
            await self._tasks.read(caller, message.task_id)
            return False
        check_task_id(message.task_id, allowed if isinstance(allowed, str) else "")
        return True

    async def _begun(
        self,
        caller: Caller,
        message: Message,
        request: dict[str, Any],
        push: TaskPushNotificationConfig | None,
    ) -> tuple[TaskStart, LogState | None]:
        """Begin a task; returns its start, and its state where the message had begun it before.

        Raises:
            InvalidParamsError: The message is too large, or its id was used for another content.
        """
        config = push and await self._push_configs.checked(push, None)
        attributes, plain = self._tasks.attributes, self._tasks.plain
        await attributes.ensure()
        repeatable = self._options.idempotent_sends
        made = caller.task_id(message.message_id) if repeatable else str(uuid.uuid4())
        at = datetime.now(timezone.utc)
        start = TaskStart(
            task_id=message.task_id or made,
            context_id=message.context_id or str(uuid.uuid4()),
            agent=caller.agent,
            message=await done(message.ByteSize(), to_json, message),
            owner=caller.owner,
            tenant=caller.tenant,
            request=request,
            at=entry_time(at),
            push_config=to_json(config) if config else None,
            search_attributes=attributes.known,
            plain=plain is not None,
        )
        check_size(
            {"message": start.message, "request": request, "push_config": start.push_config},
            self._largest_message,
        )
        written = {name: getattr(start, name) for name in TaskStart.__dataclass_fields__}
        indexed = start_attributes(start, state_name(begins_as(start)), at)
        try:
            async with attributes.used():
                await self._tasks.temporal.start(
                    self._tasks.workflow,
                    plain.input(message) if plain else [written],
                    workflow_id=start.task_id,
                    task_queue=self._tasks.task_queue,
                    memo={wire.START_MEMO: written} if plain else None,
                    search_attributes=indexed if attributes.known else None,
                    summary=_summary(start.message),
                )
        except WorkflowAlreadyStartedError:
            return start, await self._the_same(caller, start.task_id, message)
        return start, None

    async def _the_same(self, caller: Caller, task_id: str, message: Message) -> LogState:
        """The workflow exists already: return it, if it is the task this very message made."""
        try:
            state = await self._tasks.read(caller, task_id)
        except TaskNotFoundError as error:
            if message.task_id:
                raise
            raise InvalidParamsError(
                f"messageId {message.message_id!r} cannot be used for a new task. Send the "
                "message with a fresh messageId."
            ) from error
        message = as_first_message(state, message, caller)
        check_same(state.accepted.get(message.message_id), message)
        check_context(state, message)
        return state

    # --------------------------------------------------- an existing task

    async def _task_of(self, caller: Caller, message: Message) -> tuple[Caller, LogState]:
        """Return the task that a message is for, and the caller as one who may see it.

        A caller who repeats an answer that is in the log may see its task.

        Raises:
            TaskNotFoundError: There is no such task for this caller.
        """
        repeating = replace(caller, repeats=True)
        state = await self._tasks.read(repeating, message.task_id)
        if message.message_id in state.accepted:
            return repeating, state
        if not caller.may_see(state):
            raise not_found(message.task_id)
        return caller, state

    def _checked(
        self, caller: Caller, state: LogState, message: Message, request: dict[str, Any]
    ) -> tuple[Message, dict[str, Any]]:
        """Check a further message against its task; returns it and its request as they are kept."""
        check_context(state, message)
        if not caller.owns(state):
            request = {**request, "guest": True}
        elif self._options.client_task_ids:
            message = as_first_message(state, message, caller)
        if message.message_id not in state.accepted:
            check_answers(state, message, request)
            if state.terminal:
                raise _ended(state)
        return message, request

    async def _checked_config(
        self, caller: Caller, state: LogState, push: TaskPushNotificationConfig
    ) -> TaskPushNotificationConfig:
        if not caller.owns(state):
            raise InvalidParamsError(
                f"Only the owner of task {state.task.id} may set push notification configs for "
                "it. Send the message without one."
            )
        return await self._push_configs.checked(push, state)

    async def _further(
        self,
        reader: Subscription,
        state: LogState,
        message: Message,
        request: dict[str, Any],
        config: TaskPushNotificationConfig | None,
    ) -> Sent:
        """Write a further message; it is read from before it, so nothing it makes is missed."""
        before = reader.snapshot()
        known = await self.append(state, message, request, config)
        turn = await self._turn_of(reader, message)
        if known:
            return Sent(reader, turn, reader.snapshot, repeated=True)
        return Sent(reader, turn, lambda: with_message(before, message))

    async def append(
        self,
        state: LogState,
        message: Message,
        request: dict[str, Any],
        config: TaskPushNotificationConfig | None = None,
    ) -> bool:
        """Write a further message into a task's log; returns True when it was there already.

        A push config travels in the message's entry, so that it counts exactly if the message does.

        Raises:
            InvalidParamsError: The message is too large, or its id was used for another content.
            UnsupportedOperationError: The task has ended, or too many messages wait in it already.
        """
        known = state.accepted.get(message.message_id)
        if known is not None:
            check_same(known, message)
            return True
        if state.terminal:
            raise _ended(state)
        self._check_room(state)
        entry: dict[str, Any] = {
            "version": wire.LOG_VERSION,
            "message": to_json(message),
            "request": request,
            "at": entry_time(datetime.now(timezone.utc)),
        }
        if config is not None:
            entry["push_config"] = to_json(config)
        check_size(entry, self._largest_message)
        try:
            await self._signal(state.task.id, message, entry)
        except RPCError as error:
            if is_closed_workflow(error) or is_outgrown_workflow(error):
                raise _ended(state) from error
            raise
        return False

    async def _signal(self, task_id: str, message: Message, entry: dict[str, Any]) -> None:
        temporal, plain = self._tasks.temporal, self._tasks.plain
        if plain is None:
            await temporal.signal(task_id, wire.MESSAGE_SIGNAL, [entry])
            return
        if plain.answer is None:
            raise UnsupportedOperationError(
                "This agent takes no further messages to a task. Send a message without taskId to "
                "begin a new task."
            )
        signal = plain.answer(message)
        # The log counts a message once, but a workflow that knows nothing of A2A would get it twice
        # if a client, or another replica, sends it again before it shows.
        once = str(uuid.uuid5(_MESSAGES, f"{task_id}/{message.message_id}"))
        await temporal.signal_once(
            task_id,
            signal.name,
            signal.args,
            headers={wire.MESSAGE_HEADER: entry},
            request_id=once,
        )

    def _check_room(self, state: LogState) -> None:
        """Keep room in a run for the events that the agent of a task has yet to publish.

        Only of the built-in workflow is it known how many messages wait: a workflow of an author
        may take messages without publishing anything. Temporal's limit is one of each run.
        """
        if self._tasks.plain is not None:
            return
        if self._tasks.workflow == wire.AGENT_WORKFLOW:
            waiting = state.turns - state.turn
            if waiting >= self._options.maximum_waiting_messages:
                raise UnsupportedOperationError(
                    f"Task {state.task.id} has {waiting} messages that its agent has yet to "
                    "handle, and takes no more before it has. Send this one later."
                )
        elif state.turns_of_run >= _MESSAGES_A_RUN:
            raise UnsupportedOperationError(
                f"Task {state.task.id} has had {state.turns_of_run} messages in one run of its "
                "workflow, and takes no more before the next run. Send this one later."
            )

    async def _turn_of(self, reader: Subscription, message: Message) -> int:
        """Wait until a sent message shows in the log and return the turn it opens.

        Raises:
            UnsupportedOperationError: The task ended before the message reached it.
            InvalidParamsError: Another message with its id came before it.
            UnavailableError: The log cannot be read now; the message may be sent again.
        """
        await wait_until(
            reader,
            lambda state: message.message_id in state.accepted or state.terminal,
            SHOWN_WITHIN,
        )
        accepted = reader.state.accepted.get(message.message_id)
        if accepted is not None:
            check_same(accepted, message)
            return accepted.turn
        if reader.state.terminal:
            raise _ended(reader.state)
        raise UnavailableError


def _ended(state: LogState) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"Task {state.task.id} has ended and takes no more messages. Send a message without "
        "taskId to begin a new task."
    )


def _summary(message: dict[str, Any]) -> str | None:
    """Return the first text of a message for the Temporal UI, in one short line."""
    for part in message.get("parts", []):
        text = " ".join(str(part.get("text", "")).split())
        if text:
            shortened = text[:_SUMMARY_CHARACTERS]
            return shortened if shortened == text else shortened.rstrip() + "…"
    return None
