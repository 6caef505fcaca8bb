"""Histories as Temporal would hold them and give them out, page by page, with resets."""

from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta, timezone
from types import SimpleNamespace
from typing import Any

from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionResponse,
    GetWorkflowExecutionHistoryResponse,
)
from temporalio.converter import DataConverter
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._log import wire
from a2a_temporal._log.entries import (
    CloseEntry,
    EmissionEntry,
    Entry,
    EventsEntry,
    MessageEntry,
    TaskStart,
    now_text,
)
from a2a_temporal._log.protojson import event_to_json, to_json
from a2a_temporal._log.state import LogState, begin, snapshot
from a2a_temporal._reading.decode import Successor, entry_of, start_of
from a2a_temporal._reading.position import LogEvent, log_events, task_event
from tests.unit.log.building import started

CONVERTER = DataConverter.default.payload_converter
TASK_ID = "task"


@dataclass
class Run:
    """A run: its events, which of them it shares with the run it replaced, and how it began."""

    run_id: str
    events: list[HistoryEvent]
    shared: int = 0
    closed: bool = False


@dataclass
class Histories:
    """All runs of one task, and what a gateway says of them.

    ``split`` says how many events the next page has; ``failing`` whether the next page fails.
    """

    split: Callable[[], int] = lambda: 3
    failing: Callable[[], bool] = lambda: False
    timeout: timedelta = timedelta(seconds=5)
    runs: list[Run] = field(default_factory=list[Run])
    client: Any = field(
        default_factory=lambda: SimpleNamespace(
            data_converter=DataConverter.default, namespace="default"
        )
    )
    _keys: int = 0

    def __post_init__(self) -> None:
        """Begin with the first run."""
        self.begin(started())

    @property
    def newest(self) -> Run:
        return self.runs[-1]

    def begin(self, start: TaskStart, continued: str = "") -> None:
        """Begin a run."""
        run = Run(f"run-{len(self.runs) + 1}", [])
        self.runs.append(run)
        event = self._event(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)
        attributes = event.workflow_execution_started_event_attributes
        attributes.input.payloads.extend(CONVERTER.to_payloads([asdict(start)]))
        attributes.original_execution_run_id = run.run_id
        attributes.continued_execution_run_id = continued
        self.step()

    def step(self) -> None:
        """Complete a workflow task, which is no entry."""
        event = self._event(EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
        event.workflow_task_completed_event_attributes.SetInParent()

    def add(self, entry: Entry) -> None:
        """Write an entry into the newest run."""
        if self.newest.closed:
            return
        match entry:
            case MessageEntry():
                self._signal(wire.MESSAGE_SIGNAL, {"message": to_json(entry.message)}, entry.at)
            case EventsEntry():
                said = {
                    name: getattr(entry, name)
                    for name in ("turn", "attempt", "sequence", "done", "left", "source")
                }
                events = [event_to_json(event) for event in entry.events]
                self._signal(wire.EVENTS_SIGNAL, {**said, "events": events}, entry.at)
            case EmissionEntry():
                event = self._event(EventType.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED)
                fields = event.workflow_properties_modified_event_attributes.upserted_memo.fields
                events = [event_to_json(each) for each in entry.events]
                value = {"events": events, "at": _text(entry.at)}
                fields[wire.ENTRY_MEMO].CopyFrom(CONVERTER.to_payload(value))
            case CloseEntry():
                event = self._event(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED)
                event.workflow_execution_failed_event_attributes.SetInParent()
                event.event_time.CopyFrom(entry.at)
                self.newest.closed = True
            case _:
                raise AssertionError(entry)

    async def continue_as_new(self) -> None:
        """Go on in a new run, unless the newest has ended."""
        if self.newest.closed:
            return
        states = [state async for state, _ in folded_run(self.newest)]
        event = self._event(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW)
        continued = event.workflow_execution_continued_as_new_event_attributes
        continued.new_execution_run_id = f"run-{len(self.runs) + 1}"
        self.newest.closed = True
        carried = replace(states[-1].start, snapshot=snapshot(states[-1]))
        self.begin(carried, self.newest.run_id)

    def reset(self, cut: int) -> None:
        """Reset the newest run to one of its events."""
        replaced = self.newest
        if not replaced.closed:
            event = self._event(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
            event.workflow_execution_terminated_event_attributes.reason = "reset"
            replaced.closed = True
        beginning = replaced.events[: min(1 + cut, len(replaced.events) - 1)]
        run = Run(f"run-{len(self.runs) + 1}", list(beginning))
        self.runs.append(run)
        event = self._event(EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED)
        failed = event.workflow_task_failed_event_attributes
        failed.cause = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
        failed.base_run_id, failed.new_run_id = replaced.run_id, run.run_id
        event.event_time.FromSeconds(2_000_000_000 + len(self.runs))
        run.shared = len(run.events)

    # ------------------------------------------------------- as a gateway

    async def history_page(
        self, workflow_id: str, run_id: str = "", *, size: int = 0, token: bytes = b""
    ) -> GetWorkflowExecutionHistoryResponse:
        """Return a page of what a run held when its first page was asked for."""
        self._check()
        run, first, end = self._from(token) or (self._run(run_id), 0, -1)
        end = len(run.events) if end < 0 else end
        last = min(first + self.split(), end)
        following = f"{run.run_id} {last} {end}".encode() if last < end else b""
        return self._page(run.events[first:last], following)

    async def newest_history_page(
        self, workflow_id: str, run_id: str = "", *, size: int = 0, token: bytes = b""
    ) -> GetWorkflowExecutionHistoryResponse:
        """Return a page of a run, the newest events first."""
        self._check()
        run, end, _ = self._from(token) or (self._run(run_id), len(self._run(run_id).events), 0)
        first = max(0, end - self.split())
        following = f"{run.run_id} {first} 0".encode() if first else b""
        return self._page(run.events[first:end][::-1], following)

    async def poll_history(
        self, workflow_id: str, run_id: str = "", *, size: int = 0, token: bytes = b""
    ) -> GetWorkflowExecutionHistoryResponse:
        """Return the next page of a run; an empty one where Temporal would wait."""
        self._check()
        run, first, _ = self._from(token) or (self._run(run_id), 0, 0)
        last = min(first + self.split(), len(run.events))
        over = run.closed and last == len(run.events)
        following = b"" if over else f"{run.run_id} {last} 0".encode()
        return self._page(run.events[first:last], following)

    async def describe(self, workflow_id: str, run_id: str = "") -> Any:
        """Say which run is the newest."""
        self._check()
        described = DescribeWorkflowExecutionResponse()
        described.workflow_execution_info.execution.run_id = self.newest.run_id
        return described

    def _check(self) -> None:
        if self.failing():
            raise RPCError("not now", RPCStatusCode.UNAVAILABLE, b"")

    def _run(self, run_id: str) -> Run:
        return next(run for run in reversed(self.runs) if run_id in ("", run.run_id))

    def _from(self, token: bytes) -> tuple[Run, int, int] | None:
        if not token:
            return None
        run_id, first, end = token.decode().split()
        return self._run(run_id), int(first), int(end)

    def _page(
        self, events: list[HistoryEvent], token: bytes
    ) -> GetWorkflowExecutionHistoryResponse:
        page = GetWorkflowExecutionHistoryResponse(next_page_token=token)
        page.history.events.extend(events)
        return page

    def _signal(self, name: str, value: dict[str, Any], at: Any) -> None:
        event = self._event(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
        signaled = event.workflow_execution_signaled_event_attributes
        signaled.signal_name = name
        signaled.input.payloads.extend(CONVERTER.to_payloads([{**value, "at": _text(at)}]))

    def _event(self, kind: "EventType.ValueType") -> HistoryEvent:
        self._keys += 1
        event_id = len(self.newest.events) + 1
        event = HistoryEvent(event_id=event_id, event_type=kind, task_id=self._keys)
        self.newest.events.append(event)
        return event


async def folded_run(run: Run) -> AsyncIterator[tuple[LogState, list[LogEvent]]]:
    """Yield the state of a run after each of its events, with the stream events that one made."""
    state = None
    for event in run.events:
        made: list[LogEvent] = []
        if state is None:
            start = await start_of(event, DataConverter.default)
            assert start is not None
            state = begin(start)
        else:
            entry = await entry_of(event, DataConverter.default)
            reset = event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED
            if entry is not None and not isinstance(entry, Successor) and not reset:
                made = log_events(state, entry, run.run_id, event.event_id)
            if event.event_id == run.shared:
                state.run_id = run.run_id
                made = [task_event(state, event.event_id, 0)]
        yield state, made


def _text(at: Any) -> str:
    return now_text(at.ToDatetime(tzinfo=timezone.utc))
