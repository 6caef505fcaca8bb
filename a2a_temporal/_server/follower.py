"""Follow the logs of tasks: one follower per task and process, shared by all its readers.

A follower long-polls the task's history, folds what is new and keeps the made events in one list;
a reader is only a position in that list, so a slow reader can neither lose an event nor hold up
anybody. When a follower polls is decided by ``followers.py``.
"""

import asyncio
import itertools
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

from a2a.types.a2a_pb2 import Task, TaskState, TaskStatusUpdateEvent
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import (
    GetWorkflowExecutionHistoryRequest,
    GetWorkflowExecutionHistoryResponse,
)
from temporalio.client import Client

from a2a_temporal._executions import described
from a2a_temporal._log.entries import Entry, EventsEntry
from a2a_temporal._log.fold import fold
from a2a_temporal._log.history import Successor, closes, entry_of, keeps_its_id, run_of
from a2a_temporal._log.protojson import StreamEvent
from a2a_temporal._log.reading import (
    NoTaskError,
    PageSize,
    RenderResult,
    begun,
    converter_of,
    history_events,
)
from a2a_temporal._log.state import LogState, state_name
from a2a_temporal._reconnecting import reconnecting

_POLL_TIMEOUT = timedelta(seconds=65)
_SHORT_RPC_TIMEOUT = timedelta(seconds=5)
# Temporal gives at most 256 batches of events a page. One of fewer events than batches were asked
# for is the last one.
_PAGE_EVENTS = 256
_FIRST_PAGE = 0.5
_EVENTS_AT_ONCE = 100
_KEPT_EVENTS = 10_000
_KEPT_BYTES = 16 * 1024 * 1024

_STEPS = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
    }
)

UNREAD = sys.maxsize
"""Position of a reader that wants nothing of what the log holds already."""


@dataclass(frozen=True)
class Cursor:
    """A position in a task's log: the ``index``-th event made from a history event of a run.

    With ``ALL`` as its index it stands behind everything that was made from that history event.
    ``generation`` is the number of the newest event up to here.
    """

    ALL: ClassVar[int] = 999_999_999

    run_id: str
    event_id: int
    index: int
    generation: int = field(default=0, compare=False)


@dataclass(frozen=True)
class LogEvent:
    """A stream event, where it stands in the log, and the turn it belongs to.

    ``shared`` is for what is made of the event once for all who read it, under a name.
    """

    cursor: Cursor
    event: StreamEvent
    turn: int
    shared: dict[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)

    @property
    def state(self) -> TaskState | None:
        """The state the event brings the task into, if it says one."""
        if isinstance(self.event, (TaskStatusUpdateEvent, Task)):
            return self.event.status.state
        return None


def log_events(state: LogState, entry: Entry, run_id: str, event_id: int) -> list[LogEvent]:
    """Fold an entry and return the stream events it makes, each with its place in the log."""
    made = fold(state, entry)
    turn = entry.turn if isinstance(entry, EventsEntry) else state.turns
    first = state.generation - len(made) + 1
    return [
        LogEvent(Cursor(run_id, event_id, index, first + index), event, turn)
        for index, event in enumerate(made)
    ]


class Follower:
    """Reads one task's log for as long as it has readers. Made by ``Followers``.

    Attributes:
        state: The folded log; ``None`` until all that it held at first has been read.
        begun: Where the log that was read begins.
        newest: How far the state reaches.
        failure: Why reading ended early; readers raise it.
        finished: Nothing more will come.
        new: The task was created just now, and its first entry is still to come.
        entries: Number of entries read; most events of a history are none.
        paused: The workflow is paused, so Temporal lets nobody wait for its next event.
        stepping: The history ends in the middle of a workflow task: more follows in no time.
        quiet_since: Event-loop time of the last page that held something.
        unreadable_since: Event-loop time since which what comes next cannot be decoded.
    """

    def __init__(self, client: Client, task_id: str, render_result: RenderResult | None) -> None:
        self.task_id = task_id
        self.state: LogState | None = None
        self.begun = self.newest = Cursor("", 0, 0)
        self.failure: BaseException | None = None
        self.finished = False
        self.new = False
        self.entries = 0
        self.stepping = False
        self.paused = False
        self.quiet_since = asyncio.get_running_loop().time()
        self.unreadable_since: float | None = None
        self.readers: set[Reader] = set()
        self._client = client
        self._render_result = render_result
        self._events: deque[LogEvent] = deque()
        self._events_bytes = 0
        self._dropped = 0
        self._run_id = ""
        self._pinned_run_id = ""
        self._token = b""
        self._size = PageSize(_PAGE_EVENTS)
        self._asked = 0
        self._converter = client.data_converter
        self._last_event_id = 0
        self._building: LogState | None = None
        self._rebuilding = True
        self._reading = False
        self._heated_at = 0.0
        self._polled = False
        self._changed = asyncio.Event()

    @property
    def end(self) -> int:
        """Position after the newest event."""
        return self._dropped + len(self._events)

    @property
    def ready(self) -> bool:
        """True once a reader can start: there is a state, or reading failed."""
        return self.state is not None or self.finished

    @property
    def parked(self) -> bool:
        """True while the task waits for a person; the next thing it does is a status change."""
        return self.state is not None and self.state.interrupted

    @property
    def idle(self) -> bool:
        """True while nothing but something new is awaited: reading may be interrupted.

        After a pause the first page may hold what happened meanwhile, so it is read first, or
        waited for long enough to know that there is none.
        """
        waited = asyncio.get_running_loop().time() - self._heated_at
        reading = self._rebuilding or self._reading or self.finished
        return not reading and (self._polled or waited > _FIRST_PAGE)

    @property
    def bytes(self) -> int:
        """About how much memory what was read takes, its events aside."""
        return sum(state.bytes for state in (self.state, self._building) if state is not None)

    @property
    def indexed(self) -> tuple[str, int]:
        """What visibility says of the task once it knows what this follower knows."""
        if self.state is None:
            return "", 0
        status = self.state.task.status
        return state_name(status.state), status.timestamp.ToMilliseconds()

    def events_from(self, position: int) -> list[LogEvent]:
        """Return the events from ``position`` on, some at a time; none when that is not kept."""
        if position < self._dropped:
            return []
        begin = position - self._dropped
        return list(itertools.islice(self._events, begin, begin + _EVENTS_AT_ONCE))

    def changed(self) -> Awaitable[object]:
        """Return what is over as soon as something has changed since this call."""
        return self._changed.wait()

    def goes_on_from(self, run_id: str) -> bool:
        """Say whether reading can go on, in this run, from where it is."""
        return not self.finished and self._run_id == run_id

    def rest(self) -> None:
        """Keep no events, as nobody reads them."""
        self.unreadable_since = None
        self._dropped = self.end
        self._events.clear()
        self._events_bytes = 0

    def fail(self, failure: BaseException) -> None:
        """End reading; every reader raises ``failure``."""
        self.failure = failure
        self._finish()

    def stop(self) -> None:
        """End reading without a failure: readers see the log end where it is."""
        self._finish()

    async def poll(self) -> None:
        """Read the next page of the log, waiting for it where there is none yet.

        Raises:
            NoTaskError: The workflow is no A2A task.
            temporalio.service.RPCError: Temporal did not answer, or the workflow is gone.
        """
        run_id = self._pinned_run_id if self._token else self._known_run_id
        loop = asyncio.get_running_loop()
        self._asked, began = self._size.batches, loop.time()
        request = GetWorkflowExecutionHistoryRequest(
            namespace=self._client.namespace,
            execution=WorkflowExecution(workflow_id=self.task_id, run_id=run_id),
            maximum_page_size=self._asked,
            next_page_token=self._token,
            wait_new_event=True,
        )
        page = await reconnecting(
            lambda: self._client.workflow_service.get_workflow_execution_history(
                request, timeout=_POLL_TIMEOUT
            )
        )
        if len(page.history.events) >= self._asked:  # or it may have waited for some
            self._size.note(page.ByteSize(), loop.time() - began)
        self._reading = True
        try:
            await self._read_page(page)
            self._polled = True
        finally:
            self._reading = False
            self._wake()

    async def glance(self) -> None:
        """Read what the log holds now, where no long poll is to be had.

        Only long polls go on from where they were, so what is known is read again and passed over.

        Raises:
            NoTaskError: The workflow is no A2A task.
            temporalio.service.RPCError: Temporal did not answer, or the workflow is gone.
        """
        successor: Successor | None = None
        self._converter = converter_of(self._client, self.task_id)
        self._reading = True
        try:
            async for event in history_events(self._client, self.task_id, self._known_run_id):
                successor = await self._read_new(event)
            if self._building is not None and successor is None:
                self._publish(self._building)
            if successor is not None:
                self._go_on_in(successor)
            elif self.state is not None and self.state.terminal:
                self._finish()
            self._polled = True
        finally:
            self._reading = False
            self._wake()

    @property
    def _known_run_id(self) -> str:
        """The run whose events were read last; empty for the newest, while none was."""
        return self._run_id if self._last_event_id else self._pinned_run_id

    def heat(self) -> None:
        """Note that reading goes on after a pause: the next page is due at once."""
        self._polled = False
        self._heated_at = asyncio.get_running_loop().time()

    def restart(self) -> bool:
        """Read the log from its start again, after Temporal refused to go on where we were.

        Returns:
            False when we were at the start.
        """
        if not self._token:
            return False
        self._token = b""
        self._pinned_run_id = ""
        self._last_event_id = 0
        self._rebuilding = True
        return True

    async def _read_page(self, page: GetWorkflowExecutionHistoryResponse) -> None:
        self._converter = converter_of(self._client, self.task_id)
        events = page.history.events
        successor: Successor | None = None
        for event in events:
            successor = await self._read_new(event)
        if events:
            self.quiet_since = asyncio.get_running_loop().time()
            self.stepping = events[-1].event_type in _STEPS
        if self._building is not None and successor is None and await self._is_last(page):
            self._publish(self._building)
        self._token = page.next_page_token
        over = any(map(closes, events[-1:]))
        self.paused = not (self._token or over)
        if successor is not None:
            self._go_on_in(successor)
        elif over or (self.state is not None and self.state.terminal):
            self._finish()

    def _go_on_in(self, successor: Successor) -> None:
        self._pinned_run_id = self._run_id = successor.run_id
        self._token = b""
        self._last_event_id = 0

    async def _read_new(self, event: HistoryEvent) -> Successor | None:
        """Read an event unless it is known; returns the run that follows if it says so."""
        if event.event_id <= self._last_event_id:
            return None
        successor = await self._read(event)
        if keeps_its_id(event):
            self._last_event_id = event.event_id
            self.unreadable_since = None
        return successor

    async def _read(self, event: HistoryEvent) -> Successor | None:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
            await self._begin(event)
            return None
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            self._run_id = self._pinned_run_id or run_of(event) or self._run_id
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
            newer = (await self._describe()).execution.run_id
            if newer and newer != self._run_id:  # it was reset, or started anew
                self._rebuilding = True
                return Successor(newer)
        entry = await entry_of(event, self._converter)
        self.entries += entry is not None
        if isinstance(entry, Successor):
            return entry
        if entry is None:
            return None
        state = self._building or self.state
        if state is None:
            return None
        made = log_events(state, entry, self._run_id, event.event_id)
        if self.state is None or state is self.state:  # what is read anew has been shown before
            self.newest = Cursor(self._run_id, event.event_id, Cursor.ALL, state.generation)
            self._append(made)
        return None

    async def _begin(self, event: HistoryEvent) -> None:
        self._run_id = self._pinned_run_id or run_of(event)
        known = self.state
        if known is not None and known.start.plain and not self._rebuilding:
            # The run before has carried nothing over; what it told still holds.
            self.newest = Cursor(self._run_id, event.event_id, Cursor.ALL, known.generation)
            return
        state = await begun(self._client, self.task_id, event, render_result=self._render_result)
        place = Cursor(self._run_id, event.event_id, Cursor.ALL, state.generation)
        if not self.begun.run_id:
            self.begun = place
        if self._rebuilding or state.start.snapshot is None:
            self._rebuilding = True
            self._building = state
        else:
            self.state, self.newest = state, place

    async def _is_last(self, page: GetWorkflowExecutionHistoryResponse) -> bool:
        """Say whether the log held no more than ``page`` when we read it."""
        events = page.history.events
        if len(events) < self._asked or not page.next_page_token:
            return True
        return events[-1].event_id >= (await self._describe()).history_length

    def _publish(self, built: LogState) -> None:
        """Show readers the log that was read anew; those who saw another get its Task."""
        known, self.state = self.state, built
        self.newest = Cursor(self._run_id, self._last_event_id, Cursor.ALL, built.generation)
        self._building = None
        self._rebuilding = False
        if known is not None:
            self._append([LogEvent(self.newest, built.copy_task(), built.status_turn)])

    async def _describe(self) -> WorkflowExecutionInfo:
        found = await described(self._client, self.task_id, timeout=_SHORT_RPC_TIMEOUT)
        return found.workflow_execution_info

    def _append(self, made: list[LogEvent]) -> None:
        self._events += made
        self._events_bytes += sum(event.event.ByteSize() for event in made)
        read_by_all = min((reader.position for reader in self.readers), default=self.end)
        while self._events and (
            self._dropped < read_by_all
            or self._events_bytes > _KEPT_BYTES
            or len(self._events) > _KEPT_EVENTS
        ):
            self._events_bytes -= self._events.popleft().event.ByteSize()
            self._dropped += 1

    def _finish(self) -> None:
        self.finished = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        if not self.finished:
            self._changed = asyncio.Event()


class Reader:
    """One reader's position in a followed log."""

    def __init__(self, follower: Follower, position: int) -> None:
        self._follower = follower
        self.position = position
        self._taken: Cursor | None = None

    @property
    def state(self) -> LogState:
        """The folded log as it is now; shared, not to be changed."""
        state = self._follower.state
        if state is None:
            raise NoTaskError(self._follower.task_id)
        return state

    @property
    def run_id(self) -> str:
        """The run that the state was read from."""
        return self._follower.newest.run_id

    @property
    def ended(self) -> bool:
        """True when the log will say no more here, be it over or out of reach."""
        return self._follower.finished

    @property
    def failure(self) -> BaseException | None:
        """Why the log can no longer be read."""
        return self._follower.failure

    @property
    def taken(self) -> Cursor:
        """How far the last snapshot reaches; before the first, where the log begins."""
        return self._taken or self._follower.begun

    def skip(self) -> None:
        """Pass over what the log holds now: what is read next comes after it."""
        self.position = self._follower.end

    def skip_all(self) -> None:
        """Pass over all that comes, for a reader that looks at the state only."""
        self.position = UNREAD

    def snapshot(self) -> Task:
        """Return the Task as it is now; what is read next comes after it."""
        self.skip()
        self._taken = self._follower.newest
        return self.state.copy_task()

    def changed(self) -> Awaitable[object]:
        """Return what is over as soon as the log has grown since this call, or has ended."""
        return self._follower.changed()

    async def events(
        self, until: Callable[[LogState], bool] = lambda _: False
    ) -> AsyncIterator[list[LogEvent]]:
        """Yield what follows this reader's position, as much as there is; ends when the log does.

        Args:
            until: Ends it as well, once all that the log holds has been yielded.

        A reader that fell far behind gets the Task as it is now in place of what it missed.

        Raises:
            NoTaskError: The log is no longer there.
            temporalio.service.RPCError: It can no longer be read.
        """
        follower = self._follower
        while True:
            while self.position < follower.end:
                events = follower.events_from(self.position)
                if events:
                    self.position += len(events)
                    yield events
                else:
                    yield [LogEvent(follower.newest, self.snapshot(), self.state.status_turn)]
            if follower.failure is not None:
                raise follower.failure
            if follower.finished or until(self.state):
                return
            await follower.changed()
