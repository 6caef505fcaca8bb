"""The events of one task's log, shared by all who follow it in this process.

A feed keeps what its reader reads in one list. A subscription is a position in that list, so a slow
one can neither lose an event nor hold up anybody. ``feeds.py`` decides when a feed polls.
"""

import asyncio
import itertools
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from a2a.types.a2a_pb2 import Task

from a2a_temporal._log.entries import Entry, TaskStart
from a2a_temporal._log.state import LogState, state_name
from a2a_temporal._reading.position import LogEvent, LogPosition, task_event
from a2a_temporal._reading.reader import LogReader, NoTaskError

_FIRST_PAGE = 0.5
_EVENTS_AT_ONCE = 100
_KEPT_EVENTS = 10_000
_KEPT_BYTES = 16 * 1024 * 1024

UNREAD = sys.maxsize
"""Position of a subscription that wants nothing of what the log holds already."""


class Feed:
    """What a task's log says from now on, for as long as somebody subscribes to it.

    Args:
        reader: Reads the log.
        new: The task was created just now, and its first entry is still to come.

    Attributes:
        begun: Where the log that was read begins.
        failure: Why reading ended early; subscriptions raise it.
        finished: Nothing more will come.
        quiet_since: Event-loop time of the last page that held an entry.
        unreadable_since: Event-loop time since which what comes next cannot be decoded.
        subscriptions: Those who read it.
    """

    def __init__(self, reader: LogReader, *, new: bool = False) -> None:
        self.reader = reader
        self.new = new
        self.begun = reader.position
        self.failure: BaseException | None = None
        self.finished = False
        self.quiet_since = asyncio.get_running_loop().time()
        self.unreadable_since: float | None = None
        self.subscriptions: set[Subscription] = set()
        self._events: deque[LogEvent] = deque()
        self._bytes = 0
        self._dropped = 0
        self._resumed_at = 0.0
        self._polled = False
        self._changed = asyncio.Event()
        reader.listen, reader.notify = self._add, self._note
        self._note()

    @property
    def task_id(self) -> str:
        """The task."""
        return self.reader.task_id

    @property
    def state(self) -> LogState | None:
        """The folded log; ``None`` while nothing of it was read."""
        return self.reader.state

    @property
    def end(self) -> int:
        """Position after the newest event."""
        return self._dropped + len(self._events)

    @property
    def interrupted(self) -> bool:
        """True while the task waits for a person; the next thing it does is a status change."""
        return self.state is not None and self.state.interrupted

    @property
    def may_pause(self) -> bool:
        """True while nothing but something new is awaited: polling may stop for a while.

        After a pause the first page may hold what happened meanwhile, so it is read first, or
        waited for long enough to know that there is none.
        """
        waited = asyncio.get_running_loop().time() - self._resumed_at
        reading = self.reader.busy or not self.reader.whole or self.finished
        return not reading and (self._polled or waited > _FIRST_PAGE)

    @property
    def indexed(self) -> tuple[str, int]:
        """What visibility says of the task once it knows what is known here."""
        if self.state is None:
            return "", 0
        status = self.state.task.status
        return state_name(status.state), status.timestamp.ToMilliseconds()

    def resume(self) -> None:
        """Note that polling goes on after a pause: the next page is due at once."""
        self._polled = False
        self._resumed_at = asyncio.get_running_loop().time()

    async def poll(self) -> bool:
        """Wait for the next page of the log and read it; says whether it held an entry.

        Raises:
            NoTaskError: The workflow is no A2A task.
            temporalio.service.RPCError: Temporal did not answer, or the workflow is gone.
        """
        moved = await self.reader.poll()
        self._polled = True
        if moved:
            self.quiet_since = asyncio.get_running_loop().time()
        return moved

    async def read(self) -> None:
        """Read what the log holds now, without a long poll.

        Raises:
            NoTaskError: The workflow is no A2A task.
            temporalio.service.RPCError: Temporal did not answer, or the workflow is gone.
        """
        await self.reader.read()
        self._polled = True
        self._note()

    def events_from(self, position: int) -> list[LogEvent]:
        """Return the events from ``position`` on, some at a time; none when that is not kept."""
        if position < self._dropped:
            return []
        begin = position - self._dropped
        return list(itertools.islice(self._events, begin, begin + _EVENTS_AT_ONCE))

    def changed(self) -> Awaitable[object]:
        """Return an awaitable that completes on the next change."""
        return self._changed.wait()

    def fail(self, failure: BaseException) -> None:
        """End reading; every subscription raises ``failure``."""
        self.failure = failure
        self.stop()

    def stop(self) -> None:
        """End reading without a failure: subscriptions see the log end where it is."""
        self.finished = True
        self._wake()

    def _add(self, entry: Entry | TaskStart | None, made: list[LogEvent]) -> None:
        self.unreadable_since = None
        if isinstance(entry, TaskStart) and not self.begun.run_id:
            self.begun = self.reader.position
        self._events += made
        self._bytes += sum(event.event.ByteSize() for event in made)
        read_by_all = min((each.position for each in self.subscriptions), default=self.end)
        while self._events and (
            self._dropped < read_by_all
            or self._bytes > _KEPT_BYTES
            or len(self._events) > _KEPT_EVENTS
        ):
            self._bytes -= self._events.popleft().event.ByteSize()
            self._dropped += 1

    def _note(self) -> None:
        """Tell the subscriptions that something was read; finish at the end of log or task."""
        if self.reader.closed or (self.state is not None and self.state.terminal):
            self.finished = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        if not self.finished:
            self._changed = asyncio.Event()


class Subscription:
    """One subscriber's position in a feed."""

    def __init__(self, feed: Feed, position: int) -> None:
        self._feed = feed
        self.position = position
        self._taken: LogPosition | None = None

    @property
    def state(self) -> LogState:
        """The folded log as it is now; shared, not to be changed."""
        state = self._feed.state
        if state is None:
            raise NoTaskError(self._feed.task_id)
        return state

    @property
    def task_id(self) -> str:
        """The task."""
        return self._feed.task_id

    @property
    def run_id(self) -> str:
        """The run that the state was read from."""
        return self._feed.reader.position.run_id

    @property
    def ended(self) -> bool:
        """True when the log will say no more here, be it over or out of reach."""
        return self._feed.finished

    @property
    def failure(self) -> BaseException | None:
        """Why the log can no longer be read."""
        return self._feed.failure

    @property
    def taken(self) -> LogPosition:
        """How far the last snapshot reaches; before the first, where the log begins."""
        return self._taken or self._feed.begun

    def skip_all(self) -> None:
        """Pass over all that comes, for a subscriber that looks at the state only."""
        self.position = UNREAD

    def snapshot(self) -> Task:
        """Return the Task as it is now; what is read next comes after it."""
        self.position = self._feed.end
        self._taken = self._feed.reader.position
        return self.state.copy_task()

    def changed(self) -> Awaitable[object]:
        """Return an awaitable that completes when the log grows or ends."""
        return self._feed.changed()

    async def events(
        self, until: Callable[[LogState], bool] = lambda _: False
    ) -> AsyncIterator[list[LogEvent]]:
        """Yield what follows this position, as much as there is; ends when the log does.

        Args:
            until: Ends it as well, once all that the log holds has been yielded.

        A subscription that fell far behind gets the Task as it is now in place of what it missed.

        Raises:
            NoTaskError: The log is no longer there.
            temporalio.service.RPCError: It can no longer be read.
        """
        feed = self._feed
        while True:
            while self.position < feed.end:
                events = feed.events_from(self.position)
                if events:
                    self.position += len(events)
                    yield events
                else:
                    self.position = feed.end
                    self._taken = feed.reader.position
                    yield [task_event(self.state, self._taken.event_id)]
            if feed.failure is not None:
                raise feed.failure
            if feed.finished or until(self.state):
                return
            await feed.changed()
