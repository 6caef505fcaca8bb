"""Send a message: into a new task's log or an existing one's, and follow what it makes."""

import asyncio
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
from a2a.utils.errors import InvalidParamsError
from a2a.utils.input_mode_validator import validate_input_modes

from a2a_temporal._aside import done
from a2a_temporal._gateway import with_deadline
from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart, entry_time
from a2a_temporal._log.fold import with_message
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.state import LogState, begin
from a2a_temporal._server import push_configs
from a2a_temporal._server.call import Caller, describe_call
from a2a_temporal._server.checks import (
    as_first_message,
    check_answers,
    check_content,
    check_context,
    check_message,
    check_same,
    check_task_id,
)
from a2a_temporal._server.engine_errors import SHOWN_WITHIN, UnavailableError, answered, not_found
from a2a_temporal._server.follower import Reader
from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._server.push_configs import PushConfigs
from a2a_temporal._server.tasks import Tasks, ended


@dataclass(frozen=True)
class Sent:
    """A message that is part of a task, and a reader of what it makes.

    Attributes:
        reader: Stands where the message entered the log, or before.
        turn: The turn that the message opens.
        before: Makes the Task as it was when the message entered it.
        repeated: The message was sent before.
        answered: It was, and has been answered.
    """

    reader: Reader
    turn: int
    before: Callable[[], Task]
    repeated: bool = False
    answered: bool = False

    def settled(self, state: LogState) -> bool:
        """Say whether who waits for the answer has it by now."""
        return state.settled(self.turn) if self.repeated else state.was_settled(self.turn)


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

    @contextlib.asynccontextmanager
    async def sent(
        self,
        scope: Caller,
        params: SendMessageRequest,
        context: ServerCallContext,
        *,
        waits: timedelta | None,
    ) -> AsyncGenerator[Sent]:
        """Check a message, write it into the log of its task, and follow what it makes.

        Args:
            scope: Who calls.
            params: The request.
            context: The call.
            waits: How long the caller waits for a direct Message before being told of a task.
        """
        async with contextlib.AsyncExitStack() as stack:
            sending = stack.enter_async_context(self._sent(scope, params, context, waits))
            yield await answered(self._options.answered_within, sending)

    @contextlib.asynccontextmanager
    async def _sent(
        self,
        scope: Caller,
        params: SendMessageRequest,
        context: ServerCallContext,
        waits: timedelta | None,
    ) -> AsyncGenerator[Sent]:
        await done(params.ByteSize(), check_message, params, context, self._card)
        if self._options.validate_input_modes:
            validate_input_modes(params.message, self._card)
        request = describe_call(params, context, self._options)
        message = Message()
        message.CopyFrom(params.message)
        push = push_configs.attached(params)
        if message.task_id and not await self._names_new_task(scope, message):
            following = self._sent_to_task(scope, message, request, push)
        else:
            request[wire.WAITS] = waits.total_seconds() if waits is not None else None
            following = self._sent_as_task(scope, message, request, push)
        async with following as sent:
            yield sent

    async def _names_new_task(self, scope: Caller, message: Message) -> bool:
        """Say whether a message may, and does, name the task that it is to make."""
        allowed = self._options.client_task_ids
        if not allowed or await self._tasks.exists(scope, message.task_id):
            return False
        check_task_id(message.task_id, allowed if isinstance(allowed, str) else "")
        return True

    @contextlib.asynccontextmanager
    async def _sent_as_task(
        self,
        scope: Caller,
        message: Message,
        request: dict[str, Any],
        push: TaskPushNotificationConfig | None,
    ) -> AsyncGenerator[Sent]:
        """Begin a task with a message, or find the one that the same message began before."""
        start, known = await self._started(scope, message, request, push)
        async with self._tasks.follow(scope, start.task_id, known) as reader:
            if known is None:
                yield Sent(reader, 1, lambda: begin(start).task)
            else:
                await self.catch_up(reader, known)
                if push:
                    await self._push_configs.add(reader.state, push)
                yield _repeated(reader, 1)

    async def start(
        self,
        scope: Caller,
        message: Message,
        request: dict[str, Any],
        push: TaskPushNotificationConfig | None,
    ) -> Task:
        """Begin a task for somebody whose request is not under way; see the handler's method."""
        check_content(message)
        if message.task_id:
            check_task_id(message.task_id)
        start, known = await self._started(scope, message, request, push)
        return (known or begin(start)).copy_task()

    async def _started(
        self,
        scope: Caller,
        message: Message,
        request: dict[str, Any],
        push: TaskPushNotificationConfig | None,
    ) -> tuple[TaskStart, LogState | None]:
        """Begin a task; returns its start, and its state where the message had begun it before."""
        config = push and await self._push_configs.checked(push, None)
        repeatable = self._options.idempotent_sends
        made = scope.task_id(message.message_id) if repeatable else str(uuid.uuid4())
        start = TaskStart(
            task_id=message.task_id or made,
            context_id=message.context_id or str(uuid.uuid4()),
            agent=scope.agent,
            message=await done(message.ByteSize(), to_json, message),
            owner=scope.owner,
            tenant=scope.tenant,
            request=request,
            at=entry_time(datetime.now(timezone.utc)),
            push_config=to_json(config) if config else None,
        )
        return start, await self._tasks.create(scope, start)

    @contextlib.asynccontextmanager
    async def _sent_to_task(
        self,
        scope: Caller,
        message: Message,
        request: dict[str, Any],
        push: TaskPushNotificationConfig | None,
    ) -> AsyncGenerator[Sent]:
        """Send a further message; followed from before it, so that nothing it makes is missed."""
        scope, state = await self._answered_task(scope, message)
        check_context(state, message)
        if self._options.client_task_ids and scope.owns(state):
            message = as_first_message(state, message, scope)
        if message.message_id not in state.accepted:
            check_answers(state, message, request)
        if not scope.owns(state):
            request = {**request, "guest": True}
        if state.terminal and message.message_id not in state.accepted:
            raise ended(state)
        if push and not scope.owns(state):
            raise InvalidParamsError(
                f"Only the owner of task {message.task_id} may set push notification configs for "
                "it. Send the message without one."
            )
        config = push and await self._push_configs.checked(push, state)
        async with self._tasks.follow(scope, message.task_id, state) as reader:
            await self.catch_up(reader, state)
            before = reader.snapshot()
            known = await self._tasks.send(state, message, request, config)
            turn = await self._turn_of(reader, message)
            if known:
                if push:
                    await self._push_configs.add(reader.state, push)
                yield _repeated(reader, turn)
            else:
                yield Sent(reader, turn, lambda: with_message(before, message))

    async def _answered_task(self, scope: Caller, message: Message) -> tuple[Caller, LogState]:
        """Return the task that a message is for, and the caller as one who may see it.

        Whoever repeats an answer that is in the log may see what became of it.

        Raises:
            TaskNotFoundError: There is no such task for this caller.
        """
        repeating = replace(scope, repeats=True)
        state = await self._tasks.read(repeating, message.task_id)
        if message.message_id in state.accepted:
            return repeating, state
        if not scope.may_see(state):
            raise not_found(message.task_id)
        return scope, state

    async def _turn_of(self, reader: Reader, message: Message) -> int:
        """Wait until a sent message shows in the log and return the turn it opens.

        Raises:
            UnsupportedOperationError: The task ended before the message reached it.
            InvalidParamsError: Another message with its id came before it.
            UnavailableError: The log cannot be read now; the message may be sent again.
        """
        await wait(
            reader,
            lambda state: message.message_id in state.accepted or state.terminal,
            SHOWN_WITHIN,
        )
        accepted = reader.state.accepted.get(message.message_id)
        if accepted is not None:
            check_same(accepted, message)
            return accepted.turn
        if reader.state.terminal:
            raise ended(reader.state)
        raise UnavailableError

    async def catch_up(self, reader: Reader, state: LogState) -> None:
        """Read on a log that nobody has read for a while, up to what was just read of it.

        The reader stands behind that: what it passes over has been told before.

        Raises:
            UnavailableError: The log cannot be read on now.
        """
        newer = state.entries
        replaced = ""
        if reader.run_id != state.run_id:
            newest = await self._tasks.newest_run(state.task.id)
            # A run that was reset may have more entries than the one that took its place.
            replaced = reader.run_id if reader.run_id != newest else ""

        def caught_up(now: LogState) -> bool:
            return now.entries >= newer and reader.run_id != replaced

        await wait(reader, caught_up, self._options.read_timeout)
        left_behind = reader.ended and reader.run_id == replaced
        if left_behind or (reader.state.entries < newer and not reader.ended):
            raise UnavailableError
        reader.skip()

    async def first_word(self, sent: Sent) -> None:
        """Give an agent that answers with a direct Message a moment to do so."""
        if sent.turn == 1 and not sent.reader.state.start.plain:
            await wait(
                sent.reader,
                lambda state: state.turn > 0 or state.status_turn > 0,
                self._options.direct_message_wait,
            )


def _repeated(reader: Reader, turn: int) -> Sent:
    answered = reader.state.settled(turn)
    task = reader.snapshot()
    return Sent(reader, turn, lambda: task, repeated=True, answered=answered)


async def wait(
    reader: Reader, reached: Callable[[LogState], bool], limit: timedelta | None
) -> None:
    """Return once the log has reached a point, the limit has passed, or the log ends.

    Raises:
        NoTaskError: The log is no longer there.
        temporalio.service.RPCError: It can no longer be read.
    """
    loop = asyncio.get_running_loop()
    until = None if limit is None else loop.time() + limit.total_seconds()
    while not reached(reader.state) and not reader.ended:
        if until is not None and until <= loop.time():
            return
        if until is None:
            await reader.changed()
            continue
        try:
            await with_deadline(timedelta(seconds=until - loop.time()), reader.changed())
        except (TimeoutError, asyncio.TimeoutError):
            return
    if reader.failure is not None and not reached(reader.state):
        raise reader.failure
