"""The workflow's end of the log: receive entries, emit events, know the own Task.

All state is created in ``__init__`` and must be reached from the workflow's ``@workflow.init``.
Signal handlers only append to the log; decisions belong into the workflow's main coroutine.
"""

import inspect
import itertools
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timezone
from typing import Any, NoReturn

from temporalio import workflow
from temporalio.common import RawValue, SearchAttributeKey
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from a2a.types.a2a_pb2 import Message, TaskState, TaskStatus, TaskStatusUpdateEvent

    from a2a_temporal._log import wire
    from a2a_temporal._log.entries import (
        MessageEntry,
        TaskStart,
        entry_time,
        parse_emission,
        parse_signal,
    )
    from a2a_temporal._log.fold import fold
    from a2a_temporal._log.indexing import lasting_attributes
    from a2a_temporal._log.protojson import StreamEvent, event_to_json, to_json
    from a2a_temporal._log.snapshot import Snapshot
    from a2a_temporal._log.state import LogState, agent_message, begin, snapshot, state_name
    from a2a_temporal._reading.decode import plain_json
    from a2a_temporal._worker.push.child import PushChild
    from a2a_temporal._worker.task.budget import WorkflowTaskBudget

_STATE = SearchAttributeKey.for_keyword(wire.STATE_ATTRIBUTE)
_UPDATED = SearchAttributeKey.for_datetime(wire.UPDATED_ATTRIBUTE)
_ONE_RAW = inspect.Signature(
    [inspect.Parameter("value", inspect.Parameter.POSITIONAL_ONLY, annotation=RawValue)]
)


@dataclass(frozen=True)
class ReceivedMessage:
    """A client message the workflow has yet to handle, with the call that brought it.

    ``arrival`` is its place among all that has come into this run; 0 for what was there before.
    """

    message: Message
    request: dict[str, Any]
    arrival: int = 0


class TaskLog:
    """A task's log as its own workflow sees it.

    Args:
        start: The workflow's input.

    Attributes:
        state: What the log says so far.
        inbox: Client messages nobody has looked at yet.
        carried: What the previous run knew; None in the first.
        arrivals: Numbers what comes into this run, whichever signal brings it.
        budget: What the present workflow task may still emit.
        on_indexed: Called when the task begins to be indexed.
    """

    def __init__(self, start: TaskStart) -> None:
        self.state: LogState = begin(start)
        self.inbox: deque[ReceivedMessage] = deque()
        self.arrivals = itertools.count(1)
        self.carried: Snapshot | None = None
        if start.snapshot is None:
            self.inbox.append(ReceivedMessage(self.state.task.history[0], start.request))
        else:
            self.carried = Snapshot.from_json(start.snapshot)
            history = {message.message_id: message for message in self.state.task.history}
            for message_id, request in self.carried.inbox:
                self.inbox.append(ReceivedMessage(history[message_id], request))
        self._indexed: tuple[Any, int] | None = self._status_key()
        self.on_indexed: Callable[[], None] = lambda: None
        self._push = PushChild(self.state, self.carried.push_child if self.carried else 0)
        self.budget = WorkflowTaskBudget()
        on_signal(wire.MESSAGE_SIGNAL, self._on_message)
        on_signal(wire.EVENTS_SIGNAL, self._on_events)
        on_signal(wire.PUSH_CONFIG_SIGNAL, self._on_push_config)
        on_signal(wire.INDEX_SIGNAL, self._on_index)
        workflow.set_query_handler(wire.TASK_QUERY, self._task_json)
        workflow.register_random_seed_callback(self._on_reset)

    def emit(self, *events: StreamEvent) -> None:
        """Write events into the log; they are durable with this workflow task.

        Raises:
            PublicError: The events are larger than an entry, or than what one workflow task emits.
            ApplicationError: An event is nothing that can be read again: it is nested too deeply.
        """
        at = entry_time(workflow.now())
        written = {"events": [event_to_json(event) for event in events], "at": at}
        entry = parse_emission(written)
        if entry is None:
            raise ApplicationError(
                "The task log cannot hold what was to be published", non_retryable=True
            )
        self.budget.take(written)
        workflow.upsert_memo({wire.ENTRY_MEMO: {"version": wire.LOG_VERSION, **written}})
        fold(self.state, entry)
        self._folded()

    def emit_status(self, state: TaskState, text: str = "") -> None:
        """Write a status with an optional text of the agent's side."""
        status = TaskStatus(state=state)
        if text:
            status.message.CopyFrom(agent_message(text, message_id=str(workflow.uuid4())))
        self.emit(TaskStatusUpdateEvent(status=status))

    def continue_as_new_due(self, threshold: int | None) -> bool:
        """Say whether the history is long enough for a new run to take over."""
        if self.state.terminal:
            return False
        info = workflow.info()
        long = threshold is not None and info.get_current_history_length() >= threshold
        if not (long or info.is_continue_as_new_suggested()):
            return False
        # A task too large to be carried over stays in its run, for as long as the engine lets it.
        return self.budget.holds(snapshot(self.state).to_json())

    async def settle(self) -> None:
        """Wait until nothing holds up the end of this run, so that what it hands over is all.

        A message that came after the hand-over would be lost.
        """
        await self._push.settle()

    def snapshot(self, waiting: Iterable[ReceivedMessage]) -> Snapshot:
        """Return what the next run needs to know of the task.

        Args:
            waiting: Messages nobody has handled yet; they are in the new run's inbox.
        """
        inbox = [[each.message.message_id, each.request] for each in waiting]
        return replace(snapshot(self.state), inbox=inbox, push_child=self._push.number)

    def continue_as_new(self, carried: Snapshot, *, author: Any = None) -> NoReturn:
        """Let a new run take over; clients see no seam.

        Args:
            carried: Everything the task is.
            author: What the author of the workflow hands on, as JSON.

        Raises:
            PublicError: The task is too large to be carried over.
        """
        start = replace(
            self.state.start, snapshot=carried.to_json(), carried=author, push_config=None
        )
        (payload,) = workflow.payload_converter().to_payloads([start])
        self.budget.check_payload(len(payload.data), "What a new run needs to take over")
        workflow.continue_as_new(start)

    def _on_message(self, value: Any = None, *_: Any) -> None:
        entry = parse_signal(wire.MESSAGE_SIGNAL, value)
        if not isinstance(entry, MessageEntry):
            workflow.logger.warning("Skipped a malformed %s signal", wire.MESSAGE_SIGNAL)
            return
        before = self.state.turns
        fold(self.state, entry)
        self._folded()
        if self.state.turns > before:
            message = self.state.task.history[-1]
            self.inbox.append(ReceivedMessage(message, entry.request, next(self.arrivals)))

    def _on_events(self, value: Any = None, *_: Any) -> None:
        entry = parse_signal(wire.EVENTS_SIGNAL, value)
        if entry is None:
            workflow.logger.warning("Skipped a malformed %s signal", wire.EVENTS_SIGNAL)
            return
        fold(self.state, entry)
        self._folded()

    def _on_push_config(self, value: Any = None, *_: Any) -> None:
        entry = parse_signal(wire.PUSH_CONFIG_SIGNAL, value)
        if entry is None:
            workflow.logger.warning("Skipped a malformed %s signal", wire.PUSH_CONFIG_SIGNAL)
            return
        fold(self.state, entry)
        self._push.notify()

    def _on_index(self, *_: Any) -> None:
        """Begin to index a task that began before the namespace had the search attributes."""
        start = self.state.start
        if start.search_attributes:
            return
        self.state.start = replace(start, search_attributes=True)
        workflow.upsert_search_attributes(
            [pair.key.value_set(pair.value) for pair in lasting_attributes(start)]
        )
        self._indexed = None
        self._index()
        self.on_indexed()

    def _on_reset(self, _: int) -> None:
        """Let the next run begin with numbers that no event of the runs before has.

        A workflow learns of its reset by its new random numbers, later than readers do.
        """
        self.state.skipped = int(workflow.time() * 1_000_000)

    def _task_json(self) -> dict[str, Any]:
        return to_json(self.state.task)

    def _status_key(self) -> tuple[Any, int]:
        status = self.state.task.status
        return status.state, status.timestamp.ToNanoseconds()

    def _folded(self) -> None:
        self._index()
        self._push.notify()

    def _index(self) -> None:
        """Let visibility find the task by its present status."""
        key = self._status_key()
        if key == self._indexed or not self.state.start.search_attributes:
            return
        self._indexed = key
        status = self.state.task.status
        workflow.upsert_search_attributes(
            [
                _STATE.value_set(state_name(status.state)),
                _UPDATED.value_set(status.timestamp.ToDatetime(tzinfo=timezone.utc)),
            ]
        )


def on_signal(name: str, handler: Callable[..., None]) -> None:
    """Have a handler called with the arguments of a signal as plain JSON, however many there are.

    A payload that this worker cannot decode raises ``LogUnreadableError``: the workflow task fails,
    and is tried again by a worker that can. The SDK would drop the signal, with a line in the log.
    """

    def receive(*values: Any) -> None:
        converter = workflow.payload_converter()
        handler(
            *(
                plain_json(each.payload, converter) if isinstance(each, RawValue) else each
                for each in values
            )
        )

    # The SDK asks the signature for types, and knows none of variable arguments. A single argument,
    # which is what all signals of the log have, then comes undecoded.
    receive.__signature__ = _ONE_RAW
    receive.__annotations__ = {"value": RawValue}
    workflow.set_signal_handler(name, receive)
