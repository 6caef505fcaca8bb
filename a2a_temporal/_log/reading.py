"""Read a whole log once: every page of a run's history, folded."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from a2a.types.a2a_pb2 import Part
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.history.v1 import HistoryEvent, WorkflowExecutionStartedEventAttributes
from temporalio.api.workflowservice.v1 import (
    GetWorkflowExecutionHistoryRequest,
    GetWorkflowExecutionHistoryResponse,
    GetWorkflowExecutionHistoryReverseRequest,
)
from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._log.entries import MALFORMED
from a2a_temporal._log.fold import fold
from a2a_temporal._log.history import Successor, entry_of, run_of, start_of
from a2a_temporal._log.payloads import LogUnreadableError, of_workflow
from a2a_temporal._log.state import LogState, begin
from a2a_temporal._reconnecting import reconnecting

_FEW_BATCHES = 8
_MOST_BATCHES = 1000
_FASTER = 8
_PAGE_BYTES = 4 * 1024 * 1024
_SHARE = 0.2
READ_TIMEOUT = timedelta(seconds=5)
"""Bound of one call for a page of a history, unless the caller says another."""
TIMEOUTS = (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)
"""What a call to Temporal that was not answered in time ends with."""
_EARLIER_RUNS = 100

RenderResult = Callable[[Any], list[Part]]
"""Turns the result of a plain workflow into the parts of an artifact."""

Admit = Callable[[WorkflowExecutionStartedEventAttributes], bool | None]
"""Judges a run by its first event, before anything is decoded: whether it is a task that may be
read; ``None`` where that does not show."""

AdmitState = Callable[[LogState], bool]
"""Judges a task by its start, before anything else of it is read."""


class NoTaskError(Exception):
    """The workflow is no A2A task."""


class PageSize:
    """How many batches of events a page of a history is asked for.

    A page shall neither be large nor take long, so its size follows what the last one brought. The
    first one is small: it holds a task of one turn, and little of one that is not to be read.

    Args:
        most: The largest number to ask for.
        first: The number to begin with, if that is small.
        timeout: Bound of a call; a page shall take a part of it.

    Attributes:
        batches: How many to ask for.
        shrunk: A page did not come in time.
    """

    def __init__(
        self,
        most: int = _MOST_BATCHES,
        *,
        first: int = _FEW_BATCHES,
        timeout: timedelta = READ_TIMEOUT,
    ) -> None:
        self.batches = min(first, _FEW_BATCHES, most)
        self.shrunk = False
        self._most = most
        self._seconds = timeout.total_seconds() * _SHARE

    def note(self, page_bytes: int, seconds: float) -> None:
        """Note what a page of the present size had, and how long it took."""
        times = min(
            _PAGE_BYTES / max(page_bytes, 1), self._seconds / max(seconds, 1e-3), float(_FASTER)
        )
        self.batches = max(1, min(int(self.batches * times), self._most))

    def shrink(self) -> bool:
        """Ask for less after a page that did not come in time; False if it was the least."""
        smaller = self.batches // _FASTER
        least, self.batches = self.batches == 1, max(1, smaller)
        self.shrunk = True
        return not least


class LogReading:
    """Reads the log of one run from its start; what was read stays when reading is interrupted.

    Args:
        client: Connected client; payloads are decoded with its data converter.
        task_id: The task, which is the workflow id.
        run_id: One run; the newest by default, which carries what the earlier ones knew.
        render_result: Turns the result of a plain workflow into parts.
        earlier_runs: How many runs of a plain workflow are read before this one.
        admit: Judges the run before anything is decoded.
        admit_state: Judges the task by its start.
        timeout: Bound of a call for one page.

    Attributes:
        size: Of the next page.
        state: What was read so far; ``None`` before the first event.
        finished: All was read that the history held when reading began.
    """

    def __init__(
        self,
        client: Client,
        task_id: str,
        run_id: str = "",
        *,
        render_result: RenderResult | None = None,
        earlier_runs: int = _EARLIER_RUNS,
        admit: Admit | None = None,
        admit_state: AdmitState | None = None,
        timeout: timedelta = READ_TIMEOUT,
    ) -> None:
        self.state: LogState | None = None
        self.finished = False
        self._client = client
        self._task_id = task_id
        self._run_id = run_id
        self._render_result = render_result
        self._earlier_runs = earlier_runs
        self._admit = admit
        self._admit_state = admit_state
        self._timeout = timeout
        self.size = PageSize(timeout=timeout)
        self._token = b""
        self._last = 0

    async def events(self) -> AsyncIterator[HistoryEvent]:
        """Fold what is left to be read; yields each event once it is in the state.

        Raises:
            NoTaskError: The workflow is no A2A task, or none that may be read.
            LogUnreadableError: Something of it cannot be decoded here.
            temporalio.service.RPCError: Temporal did not answer, or knows no such workflow.
        """
        request = _history_request(self._client, self._task_id, self._run_id, self._token)
        read = self._client.workflow_service.get_workflow_execution_history
        async for page in _pages(read, request, self.size, self._timeout):
            converter = converter_of(self._client, self._task_id)
            for event in page.history.events:
                if event.event_id > self._last:
                    await self._add(event, converter)
                    self._last = event.event_id
                    yield event
            self._token = page.next_page_token
        self.finished = True

    async def _add(self, event: HistoryEvent, converter: DataConverter) -> None:
        if self.state is not None:
            await add_event(self.state, event, converter)
            return
        started = event.workflow_execution_started_event_attributes
        admitted = self._admit(started) if self._admit else None
        if admitted is False:
            raise NoTaskError(self._task_id)
        state = await begun(
            self._client,
            self._task_id,
            event,
            render_result=self._render_result,
            earlier_runs=self._earlier_runs,
            expected=bool(admitted),
        )
        if self._admit_state is not None and not self._admit_state(state):
            raise NoTaskError(self._task_id)
        state.run_id = run_of(event)
        self.state = state


async def read_log(
    client: Client,
    task_id: str,
    *,
    run_id: str = "",
    render_result: RenderResult | None = None,
    watch: Callable[[HistoryEvent], None] | None = None,
    earlier_runs: int = _EARLIER_RUNS,
) -> LogState:
    """Fold the present log of a task; needs no worker and works after the workflow has closed.

    Args:
        client: Connected client; payloads are decoded with its data converter.
        task_id: The task, which is the workflow id.
        run_id: One run; the newest by default, which carries what the earlier ones knew.
        render_result: Turns the result of a plain workflow into parts.
        watch: Shown every history event of this run, for what is not part of the log.
        earlier_runs: How many runs of a plain workflow are read before this one.

    Raises:
        NoTaskError: The workflow exists but is no A2A task.
        LogUnreadableError: Something of it cannot be decoded here.
        temporalio.service.RPCError: Temporal did not answer, or knows no such workflow.
    """
    reading = LogReading(
        client, task_id, run_id, render_result=render_result, earlier_runs=earlier_runs
    )
    async for event in reading.events():
        if watch is not None:
            watch(event)
    if reading.state is None:
        raise NoTaskError(task_id)
    return reading.state


def converter_of(client: Client, workflow_id: str) -> DataConverter:
    """Return the converter for the payloads of one workflow of the client's namespace."""
    return of_workflow(client.data_converter, client.namespace, workflow_id)


async def add_event(state: LogState, event: HistoryEvent, converter: DataConverter) -> None:
    """Fold a history event that follows; the state is changed at the very end, or not at all."""
    entry = await entry_of(event, converter)
    state.run_id = run_of(event) or state.run_id
    if entry is not None and not isinstance(entry, Successor):
        fold(state, entry)


async def begun(
    client: Client,
    task_id: str,
    event: HistoryEvent,
    *,
    render_result: RenderResult | None = None,
    earlier_runs: int = _EARLIER_RUNS,
    expected: bool = False,
) -> LogState:
    """Return what a task is at the first event of a run.

    A run of a plain workflow carries nothing over from the run it continues, so that one is read as
    well, if Temporal still has it.

    Raises:
        NoTaskError: The workflow is no A2A task.
        LogUnreadableError: It is one, and cannot be decoded here.
        temporalio.service.RPCError: Temporal did not answer.
    """
    start = await start_of(event, converter_of(client, task_id), expected=expected)
    if start is None:
        raise NoTaskError(task_id)
    before = event.workflow_execution_started_event_attributes.continued_execution_run_id
    if start.plain and before and earlier_runs:
        try:
            return await read_log(
                client,
                task_id,
                run_id=before,
                render_result=render_result,
                earlier_runs=earlier_runs - 1,
            )
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
    try:
        state = begin(start)
    except MALFORMED as error:  # the snapshot of a workflow in another language
        raise LogUnreadableError("What the task's run began with cannot be read") from error
    state.render_result = render_result
    # What these hold is in the Task, and readers keep states for long.
    content = _without_content(start.snapshot)
    state.start = replace(start, message={}, snapshot=content, carried=None)
    return state


def _without_content(snapshot: dict[str, Any] | None) -> dict[str, Any] | None:
    if snapshot is None:
        return None
    return {name: value for name, value in snapshot.items() if isinstance(value, int)}


async def history_events(client: Client, task_id: str, run_id: str) -> AsyncIterator[HistoryEvent]:
    """Yield the history events a run has now, page by page."""
    request = _history_request(client, task_id, run_id, b"")
    read = client.workflow_service.get_workflow_execution_history
    async for page in _pages(read, request, PageSize(), READ_TIMEOUT):
        for event in page.history.events:
            yield event


async def newest_events(
    client: Client,
    task_id: str,
    run_id: str,
    *,
    first: int = _FEW_BATCHES,
    timeout: timedelta = READ_TIMEOUT,
) -> AsyncIterator[HistoryEvent]:
    """Yield the history events a run has now, the newest first; few come with the first page."""
    size = PageSize(first=first, timeout=timeout)
    request = GetWorkflowExecutionHistoryReverseRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=task_id, run_id=run_id),
    )
    read = client.workflow_service.get_workflow_execution_history_reverse
    async for page in _pages(read, request, size, timeout):
        for event in page.history.events:
            yield event


def _history_request(
    client: Client, task_id: str, run_id: str, token: bytes
) -> GetWorkflowExecutionHistoryRequest:
    return GetWorkflowExecutionHistoryRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=task_id, run_id=run_id),
        next_page_token=token,
    )


async def _pages(
    read: Callable[..., Awaitable[Any]], request: Any, size: PageSize, timeout: timedelta
) -> AsyncIterator[GetWorkflowExecutionHistoryResponse]:
    """Yield all pages; one that does not come in time is asked for again, with fewer events.

    The first one is not: nothing says yet that Temporal answers at all.
    """
    answers = False
    while True:
        request.maximum_page_size = size.batches
        began = time.monotonic()
        try:
            page = await reconnecting(lambda: read(request, retry=True, timeout=timeout))
        except RPCError as error:
            if error.status in TIMEOUTS and size.shrink() and answers:
                continue
            raise
        except asyncio.CancelledError:  # the caller has run out of time
            size.shrink()
            raise
        answers = True
        size.note(page.ByteSize(), time.monotonic() - began)
        yield page
        if not page.next_page_token:
            return
        request.next_page_token = page.next_page_token
