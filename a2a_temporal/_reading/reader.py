"""Read a task's log: through pages, runs and resets, and on from wherever reading stopped."""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from a2a.types.a2a_pb2 import Part
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent, WorkflowExecutionStartedEventAttributes
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryResponse
from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import Gateway, converter_of, is_missing_workflow
from a2a_temporal._log.entries import MALFORMED, Entry, TaskStart
from a2a_temporal._log.state import LogState, begin
from a2a_temporal._reading.decode import (
    LogUnreadableError,
    Successor,
    begins_run,
    closes,
    entry_of,
    keeps_its_id,
    run_of,
    start_of,
)
from a2a_temporal._reading.pages import PageSize, newest_events, pages
from a2a_temporal._reading.position import LogEvent, LogPosition, log_events, task_event

_EARLIER_RUNS = 100
_MUCH = 1000

_ENGINE_STEPS = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
    }
)

RenderResult = Callable[[Any], list[Part]]
"""Turns the result of a plain workflow into the parts of an artifact."""

Admit = Callable[[WorkflowExecutionStartedEventAttributes], bool | None]
"""Judges a run by its first event, before anything is decoded: whether it is a task that may be
read; ``None`` where that does not show."""

AdmitState = Callable[[LogState], bool]
"""Judges a task by its start, before anything else of it is read."""

Listen = Callable[[Entry | TaskStart | None, list[LogEvent]], None]
"""Is given every entry once it is part of the state, with the stream events that it made.

A reset is no entry, and makes the Task."""

Watch = Callable[[HistoryEvent], None]
"""Is shown every history event, for what is not part of the log."""


class NoTaskError(Exception):
    """The workflow is no A2A task."""


@dataclass(slots=True)
class _Run:
    """How far a run has been read.

    Attributes:
        asked: The run that is asked for; empty for the newest one.
        run_id: Its id, once known.
        state: What the log says up to here; ``None`` before the first event.
        event_id: The last event that was read and marks a place.
        event_key: What tells that event from one of the same id in another run.
        token: The next page from the start of the run.
        poll_token: The next page to be waited for.
        whole: All that the run held at some time was read; the newest events bring the rest.
        closed: The run has ended.
        successor: The run in which the log goes on then.
        replaced: That is one which takes the place of this one, by a reset.
        moved: A reset has put another run in the place of this one, behind what was read.
    """

    asked: str = ""
    run_id: str = ""
    state: LogState | None = None
    event_id: int = 0
    event_key: int = 0
    token: bytes = b""
    poll_token: bytes = b""
    whole: bool = False
    closed: bool = False
    successor: str = ""
    replaced: bool = False
    moved: bool = False


class LogReader:
    """Reads the log of one task; whatever interrupts it, the next call goes on from there.

    The log goes on where a run is continued as new. A reset, or a workflow of the same id that was
    begun anew, takes the place of what was read.

    Args:
        gateway: Calls Temporal; its time-out bounds a page.
        task_id: The task, which is the workflow id.
        run_id: One run that is read alone.
        since: The first run that is read. Without either it is the newest, which carries what the
            earlier ones knew.
        render_result: Turns the result of a plain workflow into parts.
        earlier_runs: How many runs of a plain workflow are read before the first one.

    Attributes:
        listen: Is given every entry that is read from now on. Without it, runs between the one that
            was read last and the newest one are passed over.
        notify: Is called when a page was read, or in part; ``listen`` has all of it by then.
        watch: Is shown every history event that is read from now on.
        size: Of the next page.
        stepping: The last page ended in the middle of a workflow task: more follows in no time.
        paused: The workflow is paused, so Temporal lets nobody wait for its next event.
        resets: How often what was read was replaced.
    """

    def __init__(
        self,
        gateway: Gateway,
        task_id: str,
        *,
        run_id: str = "",
        since: str = "",
        render_result: RenderResult | None = None,
        earlier_runs: int = _EARLIER_RUNS,
    ) -> None:
        self.task_id = task_id
        self.listen: Listen | None = None
        self.notify: Callable[[], None] | None = None
        self.watch: Watch | None = None
        self.size = PageSize(timeout=gateway.timeout)
        self.stepping = False
        self.paused = False
        self.resets = 0
        self._gateway = gateway
        self._alone = bool(run_id)
        self._render_result = render_result
        self._earlier_runs = earlier_runs
        first = run_id or since
        self._run = _Run(asked=first, run_id=first)
        self._replacing: _Run | None = None
        self._turn = asyncio.Lock()
        self._begun = self._done = 0
        self._admit: Admit | None = None
        self._admit_state: AdmitState | None = None

    @property
    def state(self) -> LogState | None:
        """What was read so far; ``None`` before the first event."""
        return self._run.state

    @property
    def position(self) -> LogPosition:
        """The place behind all that was read."""
        run = self._run
        generation = run.state.generation if run.state is not None else 0
        return LogPosition(run.run_id, run.event_id, LogPosition.ALL, generation)

    @property
    def whole(self) -> bool:
        """True once all was read that the log held at some time."""
        return self._run.whole and self._replacing is None

    @property
    def busy(self) -> bool:
        """True while something is read, other than by waiting for it."""
        return self._turn.locked()

    @property
    def closed(self) -> bool:
        """True once the last run was read to its end."""
        return self._run.closed and not self._run.successor

    async def read(
        self, *, admit: Admit | None = None, admit_state: AdmitState | None = None
    ) -> LogState:
        """Read what the log holds now, and return what it says.

        Of several calls at once, one reads for all that came before it began.

        Args:
            admit: Judges a run before anything of it is decoded.
            admit_state: Judges the task by its start.

        Raises:
            NoTaskError: The workflow is no A2A task, or none that may be read.
            LogUnreadableError: Something of it cannot be decoded here.
            temporalio.service.RPCError: Temporal did not answer, or knows no such workflow.
        """
        begun = self._begun
        async with self._turn:
            if self._done <= begun:
                self._begun += 1
                number = self._begun
                self._admit, self._admit_state = admit, admit_state
                try:
                    await self._read()
                finally:
                    self._admit = self._admit_state = None
                self._done = number
        if self.state is None:
            raise NoTaskError(self.task_id)
        return self.state

    async def poll(self) -> bool:
        """Read the next page of the log, waiting for it where there is none yet.

        Returns:
            Whether it held an entry; most history events hold none.

        Raises:
            NoTaskError: The workflow is no A2A task.
            LogUnreadableError: Something of the page cannot be decoded here.
            temporalio.service.RPCError: Temporal did not answer, or the workflow is gone.
        """
        if self._replacing is not None:
            await self.read()
            return True
        run, run_id, asked, began = self._run, self._run.run_id, self.size.batches, time.monotonic()
        try:
            page = await self._gateway.poll_history(
                self.task_id, run_id, size=asked, token=run.poll_token
            )
        except RPCError as error:
            if error.status != RPCStatusCode.INVALID_ARGUMENT or not run.poll_token:
                raise
            run.poll_token = b""  # Temporal no longer takes it
            await self.read()
            return True
        if len(page.history.events) >= asked:  # or it may have waited for some
            self.size.note(page.ByteSize(), time.monotonic() - began)
        async with self._turn:
            if run is not self._run or run.run_id != run_id:
                return True  # somebody has read on into another run meanwhile
            entries = run.state.entries if run.state is not None else 0
            await self._add_all(run, page.history.events)
            run.poll_token, run.asked, run.whole = page.next_page_token, run.run_id, True
            self._note_end(run, page)
            if self._goes_on(run) and self._replacing is not None:
                await self._read()
            return self.state is None or self.state.entries != entries

    def _note_end(self, run: _Run, page: GetWorkflowExecutionHistoryResponse) -> None:
        if page.history.events:
            self.stepping = page.history.events[-1].event_type in _ENGINE_STEPS
        self.paused = not (page.next_page_token or run.closed)

    async def _read(self) -> None:
        goes_on = True
        while goes_on:
            run = self._replacing or self._run
            goes_on = await (self._read_newest(run) if run.whole else self._read_pages(run))

    async def _read_pages(self, run: _Run) -> bool:
        """Read a run from its start, or from where that was interrupted, to its present end."""
        resumed = run.event_id > 0  # a token's pages end where the log did when it was given
        if resumed and not run.token:
            run.asked = run.run_id  # the newest run may be another one by now
        fetch = partial(self._gateway.history_page, self.task_id, run.asked)
        try:
            async for page in pages(fetch, self.size, run.token):
                await self._add_all(run, page.history.events)
                run.token = page.next_page_token
        except RPCError as error:
            if error.status == RPCStatusCode.INVALID_ARGUMENT:  # Temporal no longer takes it
                run.token = b""
            raise
        run.whole, run.asked = True, run.run_id
        return self._goes_on(run) or resumed

    async def _read_newest(self, run: _Run) -> bool:
        """Read what has come since, which costs what is new."""
        newer = await self._newer(run, run.run_id if self._alone else "")
        elsewhere = newer is None and not self._alone
        if elsewhere and self.listen is not None:
            newer = await self._rest(run)
        self._note_reset(run, newer or [])
        await self._add_all(run, reversed(newer or []))
        if elsewhere and not run.successor:
            self._begin_anew("" if self.listen is None else await self._newest_run())
            return True
        return self._goes_on(run)

    def _note_reset(self, run: _Run, newer: list[HistoryEvent]) -> None:
        """Note that a reset took back only what had not been read: the log goes on behind it."""
        run_id = next((run_of(event) for event in newer if run_of(event)), run.run_id)
        if run_id != run.run_id:
            run.asked = run.run_id = run_id
            run.moved, run.poll_token = True, b""

    async def _newer(self, run: _Run, asked: str) -> list[HistoryEvent] | None:
        """Return what follows the last event that was read; ``None`` if that is not in the run."""
        newer: list[HistoryEvent] = []
        events = newest_events(self._gateway, self.task_id, asked, first=self.size.batches)
        try:
            async for event in events:
                if event.event_id <= run.event_id:
                    # A run of the same id that was reset, or begun anew, has another event there.
                    same = (event.event_id, event.task_id) == (run.event_id, run.event_key)
                    return newer if same else None
                newer.append(event)
        except BaseException:
            if len(newer) > _MUCH:  # from its start it is read on by the next call
                run.whole, run.asked, run.token = False, run.run_id, b""
            raise
        return None

    async def _rest(self, run: _Run) -> list[HistoryEvent] | None:
        """Return what follows in a run that is no longer the newest, if Temporal still has it."""
        try:
            return await self._newer(run, run.run_id)
        except RPCError as error:
            if not is_missing_workflow(error):
                raise
            return None

    def _goes_on(self, run: _Run) -> bool:
        """Say whether the log goes on in another run, and begin with that."""
        if run.replaced:
            self._begin_anew(run.successor)
            return True
        if run.successor and not self._alone:
            continuing = _Run(asked=run.successor, run_id=run.successor, state=run.state)
            if run is self._replacing:
                self._replacing = continuing
            else:
                self._run = continuing
            return True
        if run is self._replacing:
            self._show(run, run.event_id, LogPosition.ALL)
        return False

    async def _newest_run(self) -> str:
        found = await self._gateway.describe(self.task_id)
        return found.workflow_execution_info.execution.run_id

    def _begin_anew(self, run_id: str) -> None:
        """Read a run that takes the place of what was read."""
        self._replacing = _Run(asked=run_id, run_id=run_id)

    def _show(self, run: _Run, event_id: int, index: int) -> None:
        """Put a run in the place of what was read before; whoever saw that gets the Task."""
        if run.state is None:
            raise NoTaskError(self.task_id)
        self._run, self._replacing, run.moved = run, None, False
        self.resets += 1
        if self.listen is not None:
            self.listen(None, [task_event(run.state, event_id, index)])

    async def _add_all(self, run: _Run, events: Iterable[HistoryEvent]) -> None:
        converter = converter_of(self._gateway.client, self.task_id)
        try:
            for event in events:
                if event.event_id > run.event_id:
                    await self._add(run, event, converter)
        finally:
            if self.notify is not None:
                self.notify()

    async def _add(self, run: _Run, event: HistoryEvent, converter: DataConverter) -> None:
        """Fold an event; nothing is changed before the very end, or nothing at all."""
        entry: Entry | TaskStart | None = None
        made: list[LogEvent] = []
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
            entry, made = await self._begin(run, event, converter)
        elif run.state is None:
            raise NoTaskError(self.task_id)
        else:
            read = await self._entry(run, event, converter)
            run.run_id = run.state.run_id = run.asked or run_of(event) or run.run_id
            run.closed = closes(event)
            if isinstance(read, Successor):
                run.successor = read.run_id
            elif read is not None:
                entry = read
                made = log_events(run.state, read, run.run_id, event.event_id)
        if keeps_its_id(event):
            run.event_id, run.event_key = event.event_id, event.task_id
        if self.watch is not None:
            self.watch(event)
        self._tell(run, event, entry, made)

    def _tell(
        self, run: _Run, event: HistoryEvent, entry: Entry | TaskStart | None, made: list[LogEvent]
    ) -> None:
        unshown = run is self._replacing
        if (run.moved or (unshown and run.asked)) and begins_run(event, run.run_id):
            self._show(run, event.event_id, 0)
        elif entry is not None and self.listen is not None and not unshown:
            self.listen(entry, made)

    async def _entry(
        self, run: _Run, event: HistoryEvent, converter: DataConverter
    ) -> Entry | Successor | None:
        """Read an event; the end of a run that a reset has replaced is no end of its task."""
        terminated = event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED
        if terminated and run.asked and not self._alone:
            newest = await self._newest_run()
            run.replaced = newest != run.run_id
            if run.replaced:
                return Successor(newest)
        return await entry_of(event, converter)

    async def _begin(
        self, run: _Run, event: HistoryEvent, converter: DataConverter
    ) -> tuple[TaskStart | None, list[LogEvent]]:
        """Begin with a run; one that carries nothing over makes the Task for those who saw another.

        A plain workflow cannot carry anything over, so what its run before said still holds.
        """
        known, run_id = run.state, run.asked or run_of(event)
        if known is not None and known.start.plain:
            run.run_id = known.run_id = run_id
            return None, []
        state = await self._admitted(event, converter)
        run.run_id = state.run_id = run_id
        run.state = state
        if known is None or state.start.snapshot is not None:
            return state.start, []
        return state.start, [task_event(state, event.event_id, 0)]

    async def _admitted(self, event: HistoryEvent, converter: DataConverter) -> LogState:
        """Return what the task is at the first event of a run, unless it is not to be read."""
        admit, admit_state = self._admit, self._admit_state
        shown = admit(event.workflow_execution_started_event_attributes) if admit else None
        if shown is False:
            raise NoTaskError(self.task_id)
        state = await self._first_state(event, converter, expected=bool(shown))
        if admit_state is not None and not admit_state(state):
            raise NoTaskError(self.task_id)
        return state

    async def _first_state(
        self, event: HistoryEvent, converter: DataConverter, *, expected: bool
    ) -> LogState:
        """Return what the task is at the first event of a run.

        A run of a plain workflow carries nothing over from the run it continues, so that one is
        read as well, if Temporal still has it.
        """
        start = await start_of(event, converter, expected=expected)
        if start is None:
            raise NoTaskError(self.task_id)
        before = event.workflow_execution_started_event_attributes.continued_execution_run_id
        if start.plain and before and self._earlier_runs:
            earlier = LogReader(
                self._gateway,
                self.task_id,
                run_id=before,
                render_result=self._render_result,
                earlier_runs=self._earlier_runs - 1,
            )
            try:
                return await earlier.read()
            except RPCError as error:
                if not is_missing_workflow(error):
                    raise
        try:
            state = begin(start)
        except MALFORMED as error:  # the snapshot of a workflow in another language
            raise LogUnreadableError("What the task's run began with cannot be read") from error
        state.render_result = self._render_result
        # What these hold is in the Task, and readers keep states for long.
        content = _without_content(start.snapshot)
        state.start = replace(start, message={}, snapshot=content, carried=None)
        return state


async def read_log(
    client: Client, task_id: str, *, run_id: str = "", watch: Watch | None = None
) -> LogState:
    """Return what the log of a task says now; needs no worker, works on closed workflows.

    Args:
        client: Connected client; payloads are decoded with its data converter.
        task_id: The task, which is the workflow id.
        run_id: One run; the newest by default, which carries what the earlier ones knew.
        watch: Shown every history event of this run.

    Raises:
        NoTaskError: The workflow exists but is no A2A task.
        LogUnreadableError: Something of it cannot be decoded here.
        temporalio.service.RPCError: Temporal did not answer, or knows no such workflow.
    """
    reader = LogReader(Gateway(client), task_id, run_id=run_id)
    reader.watch = watch
    return await reader.read()


def _without_content(snapshot: dict[str, Any] | None) -> dict[str, Any] | None:
    if snapshot is None:
        return None
    return {name: value for name, value in snapshot.items() if isinstance(value, int)}
