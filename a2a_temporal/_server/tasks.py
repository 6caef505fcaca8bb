"""Tasks as Temporal knows them: start, signal, cancel, read and follow their workflows.

Every read checks first that the task exists for the caller: foreign, unknown and expired tasks and
workflows that are no task of this agent are one and the same TaskNotFoundError.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from a2a.types.a2a_pb2 import Message, TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from temporalio.api.common.v1 import Payloads, WorkflowExecution
from temporalio.api.history.v1 import WorkflowExecutionStartedEventAttributes
from temporalio.api.workflowservice.v1 import SignalWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from a2a_temporal._executions import described
from a2a_temporal._gateway import is_closed_workflow, is_outgrown_workflow, with_deadline
from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart, entry_time, parse_time
from a2a_temporal._log.kept import KeptLogs
from a2a_temporal._log.protojson import from_json, to_json
from a2a_temporal._log.reading import Admit, AdmitState, NoTaskError, converter_of
from a2a_temporal._log.state import LogState, begins_as, state_name
from a2a_temporal._reconnecting import reconnecting
from a2a_temporal._server.call import Caller
from a2a_temporal._server.checks import as_first_message, check_context, check_same, check_size
from a2a_temporal._server.engine_errors import engine_errors, not_found
from a2a_temporal._server.follower import Cursor, LogEvent, Reader
from a2a_temporal._server.followers import Followers
from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._server.plain import PlainWorkflow, Signal
from a2a_temporal._server.resume import events_after
from a2a_temporal._server.search_attributes import Registration
from a2a_temporal._server.visibility import start_attributes

logger = logging.getLogger("a2a_temporal.server")

_MESSAGES = uuid.UUID("6f0a5c1e-6d0b-4d0e-9d5e-0f3d1b0c2a77")
_SUMMARY_CHARACTERS = 120
_MESSAGES_A_RUN = 5_000  # of the 10,000 signals that Temporal takes; an agent needs the others
_LONGEST_ID = (
    1000  # of a workflow, by Temporal's default; it calls a longer one an invalid argument
)
_LARGEST_IN_HISTORY = 1_400_000
_LARGEST_STORED_OUTSIDE = 20_000_000


class Tasks:
    """The tasks of one agent.

    Args:
        client: Connected client.
        agent: Identity of the agent.
        task_queue: Where its workers listen.
        workflow: The workflow type that is the agent.
        options: The handler's options.
    """

    def __init__(
        self,
        client: Client,
        *,
        agent: str,
        task_queue: str,
        workflow: str | PlainWorkflow,
        options: HandlerOptions,
    ) -> None:
        self._client = client
        self._task_queue = task_queue
        plain = workflow if isinstance(workflow, PlainWorkflow) else None
        self._plain = plain
        stored_outside = client.data_converter.external_storage is not None
        self._largest_message = options.maximum_message_bytes or (
            _LARGEST_STORED_OUTSIDE if stored_outside else _LARGEST_IN_HISTORY
        )
        self._workflow = plain.type if plain else str(workflow)
        self._render_result = plain.result if plain else None
        self._options = options
        self._logs = KeptLogs(self._render_result, timeout=options.read_timeout)
        self._followers = Followers(
            client,
            agent=agent,
            long_polls=options.long_polls,
            render_result=self._render_result,
        )
        self._attributes = Registration(client, limit=2 * options.read_timeout)

    async def start(self) -> None:
        """Prepare the namespace; safe to repeat.

        Raises:
            InternalError: Temporal cannot be reached now.
        """
        async with engine_errors():
            await self._attributes.ensure()

    @property
    def indexed(self) -> bool:
        """True once :meth:`start` has found that visibility knows the attributes of tasks."""
        return self._attributes.known

    @contextlib.asynccontextmanager
    async def indexing(self) -> AsyncGenerator[None]:
        """Have :meth:`start` prepare the namespace again if search attributes prove to be gone."""
        try:
            yield
        except RPCError as error:
            self._attributes.doubt(error)
            raise

    async def aclose(self) -> None:
        """End all readers where they are."""
        await self._followers.aclose()

    async def create(self, caller: Caller, start: TaskStart) -> LogState | None:
        """Start a task's workflow; returns what the same message has started before, if it has.

        Raises:
            InvalidParamsError: The message is too large, or its id was used for another content.
            InternalError: Temporal cannot be reached now.
        """
        await self.start()
        check_size(
            {"message": start.message, "request": start.request, "push_config": start.push_config},
            self._largest_message,
        )
        at = parse_time(start.at).ToDatetime(tzinfo=timezone.utc)
        start = replace(start, search_attributes=self.indexed, plain=self._plain is not None)
        written = {name: getattr(start, name) for name in TaskStart.__dataclass_fields__}
        state = state_name(begins_as(start))
        async with engine_errors(start.task_id):
            try:
                started = partial(
                    self._client.start_workflow,
                    self._workflow,
                    args=self._plain.input(_message(start)) if self._plain else [written],
                    memo={wire.START_MEMO: written} if self._plain else None,
                    id=start.task_id,
                    task_queue=self._task_queue,
                    id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                    search_attributes=(
                        start_attributes(start, state, at) if self.indexed else None
                    ),
                    static_summary=_summary(start.message),
                    rpc_timeout=self._options.read_timeout,
                )
                async with self.indexing():
                    await with_deadline(self._options.read_timeout, reconnecting(started))
            except WorkflowAlreadyStartedError:
                return await self._the_same(caller, start)
        return None

    async def send(
        self,
        state: LogState,
        message: Message,
        request: dict[str, Any],
        push_config: TaskPushNotificationConfig | None = None,
    ) -> bool:
        """Write a further message into a task's log; returns True when it was there already.

        A push config travels in the message's entry, so that it counts exactly if the message does.

        Raises:
            InvalidParamsError: The message is too large, or its id was used for another content.
            UnsupportedOperationError: The task has ended, or too many messages wait in it already.
            InternalError: Temporal cannot be reached now.
        """
        known = state.accepted.get(message.message_id)
        if known is not None:
            check_same(known, message)
            return True
        if state.terminal:
            raise ended(state)
        self._check_room(state)
        entry: dict[str, Any] = {
            "version": wire.LOG_VERSION,
            "message": to_json(message),
            "request": request,
            "at": entry_time(datetime.now(timezone.utc)),
        }
        if push_config is not None:
            entry["push_config"] = to_json(push_config)
        check_size(entry, self._largest_message)
        signal = Signal(wire.MESSAGE_SIGNAL, [entry])
        headers: dict[str, Any] = {}
        if self._plain is not None:
            signal = _answer(self._plain, message)
            headers = {wire.MESSAGE_HEADER: entry}
        async with engine_errors(state.task.id):
            try:
                signaled = self._signal(state.task.id, signal, headers, message.message_id)
                await with_deadline(self._options.read_timeout, signaled)
            except RPCError as error:
                if is_closed_workflow(error) or is_outgrown_workflow(error):
                    raise ended(state) from error
                raise
        return False

    async def cancel(self, task_id: str) -> None:
        """Ask a task's workflow to cancel; durable once this returns.

        Raises:
            InternalError: Temporal cannot be reached now.
        """
        workflow = self._client.get_workflow_handle(task_id)
        async with engine_errors(task_id):
            with contextlib.suppress(WorkflowAlreadyStartedError):
                limit = self._options.read_timeout
                await with_deadline(limit, reconnecting(lambda: workflow.cancel(rpc_timeout=limit)))

    async def read(
        self, caller: Caller, task_id: str, *, limit: timedelta | None = None
    ) -> LogState:
        """Return what a task's log says now.

        Whose task it is, is decided by the first event of its history, before the rest is read. A
        log that takes longer to read than an operation may, or the limit, is read on by the next
        one.

        Raises:
            TaskNotFoundError: There is no such task for this caller.
            InternalError: Temporal cannot be reached now.
        """
        admit = partial(self._admit, caller)
        state = await self.log(task_id, admit=admit, admit_state=caller.may_be_shown, limit=limit)
        if not caller.may_see(state):
            raise not_found(task_id)
        return state

    async def log(
        self,
        task_id: str,
        *,
        admit: Admit | None = None,
        admit_state: AdmitState | None = None,
        limit: timedelta | None = None,
    ) -> LogState:
        """Return what a task's log says now, whoever may see it.

        Raises:
            TaskNotFoundError: There is no such task, or none that is admitted.
            InternalError: Temporal cannot be reached now.
        """
        _check_id(task_id)
        async with engine_errors(task_id):
            try:
                reading = self._logs.read(
                    self._client, task_id, admit=admit, admit_state=admit_state
                )
                return await with_deadline(limit or self._options.answered_within, reading)
            except NoTaskError as error:
                raise not_found(task_id) from error

    def context_of(self, task_id: str) -> str:
        """Return the contextId of a task that was read here lately, in part at least."""
        return self._logs.context_of(task_id)

    def _admit(
        self, caller: Caller, started: WorkflowExecutionStartedEventAttributes
    ) -> bool | None:
        """Decide whose task it is before anything is decoded, as far as that shows.

        Where a namespace has no search attributes, a workflow of the agent's own type and queue is
        taken for a task that cannot be decoded, not for a workflow of others.
        """
        shown = caller.may_be_shown_by(started)
        if shown is None and started.workflow_type.name == self._workflow:
            return True if started.task_queue.name == self._task_queue else None
        return shown

    async def newest_run(self, task_id: str) -> str:
        """Return the id of the run in which a task is now.

        Raises:
            InternalError: Temporal cannot be reached now.
        """
        limit = self._options.read_timeout
        async with engine_errors(task_id):
            found = await with_deadline(limit, described(self._client, task_id, timeout=limit))
            return found.workflow_execution_info.execution.run_id

    async def exists(self, caller: Caller, task_id: str) -> bool:
        """Say whether there is such a task for this caller.

        Raises:
            InternalError: Temporal cannot be reached now.
        """
        try:
            await self.read(caller, task_id)
        except TaskNotFoundError:
            return False
        return True

    async def events_after(self, task_id: str, after: Cursor | None) -> list[LogEvent] | None:
        """Return what the log holds behind a cursor; ``None`` when the cursor is of no use.

        So it is where the log takes too long to read once more.

        Raises:
            InternalError: Temporal cannot be reached now.
        """
        if after is None:
            return None
        limit = self._options.read_timeout
        async with engine_errors(task_id):
            reading = events_after(
                self._client, task_id, after, timeout=limit, render_result=self._render_result
            )
            try:
                return await with_deadline(limit, reading)
            except asyncio.TimeoutError:
                logger.info("The log of task %s takes too long to resume a stream", task_id)
                return None

    @contextlib.asynccontextmanager
    async def follow(
        self, caller: Caller, task_id: str, known: LogState | None
    ) -> AsyncGenerator[Reader]:
        """Follow a task's log on from what was just read of it, or a new one from its start.

        Raises:
            TaskNotFoundError: There is no such task for this caller, or no longer.
            InternalError: Temporal cannot be reached now.
        """
        _check_id(task_id)
        async with engine_errors(task_id), contextlib.AsyncExitStack() as stack:
            try:
                reader = await with_deadline(
                    self._options.answered_within,
                    stack.enter_async_context(
                        self._followers.follow(
                            task_id, from_start=known is None, run_id=known.run_id if known else ""
                        )
                    ),
                )
                # A reader may stand at a place where less was asked than by now.
                if not caller.may_see(known or reader.state):
                    raise not_found(task_id)
                yield reader
            except NoTaskError as error:
                raise not_found(task_id) from error

    def _check_room(self, state: LogState) -> None:
        """Keep room in a run for what the agent of a task has yet to say.

        How many messages wait can be told of the built-in workflow alone: those of an author may
        take messages without a word. Temporal's limit is one of a run, whoever takes them.
        """
        if self._plain is not None:
            return
        if self._workflow == wire.AGENT_WORKFLOW:
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

    async def _signal(
        self, task_id: str, signal: Signal, headers: dict[str, Any], message_id: str
    ) -> None:
        converter = converter_of(self._client, task_id)
        if not headers:
            workflow = self._client.get_workflow_handle(task_id)
            await reconnecting(lambda: workflow.signal(signal.name, args=signal.args))
            return
        request = SignalWorkflowExecutionRequest(
            namespace=self._client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=task_id),
            signal_name=signal.name,
            input=Payloads(payloads=await converter.encode(signal.args)),
            identity=self._client.identity,
            # Of one id Temporal takes one signal a run. The log counts a message once, but a
            # workflow that knows nothing of A2A would hear what a client, or another replica,
            # sends again before it shows.
            request_id=str(uuid.uuid5(_MESSAGES, f"{task_id}/{message_id}")),
        )
        for name, value in headers.items():
            request.header.fields[name].CopyFrom((await converter.encode([value]))[0])
        service = self._client.workflow_service
        await reconnecting(lambda: service.signal_workflow_execution(request, retry=True))

    async def _the_same(self, caller: Caller, start: TaskStart) -> LogState:
        """The workflow exists already: return it, if it is the task this very message made."""
        try:
            state = await self.read(caller, start.task_id)
        except TaskNotFoundError as error:
            if start.message.get("taskId"):
                raise
            raise InvalidParamsError(
                f"messageId {_message_id(start)!r} cannot be used for a new task. Send the "
                "message with a fresh messageId."
            ) from error
        message = as_first_message(state, _message(start), caller)
        first = state.accepted.get(message.message_id)
        check_same(first, message)
        check_context(state, message)
        return state


def ended(state: LogState) -> UnsupportedOperationError:
    """Return the error for a message to a task that takes no more of them."""
    return UnsupportedOperationError(
        f"Task {state.task.id} has ended and takes no more messages. Send a message without "
        "taskId to begin a new task."
    )


def _answer(plain: PlainWorkflow, message: Message) -> Signal:
    if plain.answer is None:
        raise UnsupportedOperationError(
            "This agent takes no further messages to a task. Send a message without taskId to "
            "begin a new task."
        )
    return plain.answer(message)


def _message(start: TaskStart) -> Message:
    return from_json(start.message, Message())


def _message_id(start: TaskStart) -> str:
    return str(start.message.get("messageId", ""))


def _summary(message: dict[str, Any]) -> str | None:
    """Return the first text of a message for the Temporal UI, in one short line."""
    for part in message.get("parts", []):
        text = " ".join(str(part.get("text", "")).split())
        if text:
            shortened = text[:_SUMMARY_CHARACTERS]
            return shortened if shortened == text else shortened.rstrip() + "…"
    return None


def _check_id(task_id: str) -> None:
    """Ask Temporal of no id that it would not take for one.

    Raises:
        TaskNotFoundError: It is the id of no task.
    """
    if not 0 < len(task_id.encode()) <= _LONGEST_ID:
        raise not_found(task_id)
