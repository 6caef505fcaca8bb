"""Read a whole log once: every page of a run's history, folded."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from a2a.types.a2a_pb2 import Part
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import (
    GetWorkflowExecutionHistoryRequest,
    GetWorkflowExecutionHistoryReverseRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._log.fold import fold
from a2a_temporal._log.history import Successor, entry_of, run_of, start_of
from a2a_temporal._log.state import LogState, begin
from a2a_temporal._reconnecting import reconnecting

_PAGE_EVENTS = 1000
_FEW_BATCHES = 8
_RPC_TIMEOUT = timedelta(seconds=5)
_EARLIER_RUNS = 100


class NoTaskError(Exception):
    """The workflow is no A2A task."""


async def read_log(
    client: Client,
    task_id: str,
    *,
    run_id: str = "",
    render_result: Callable[[Any], list[Part]] | None = None,
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
        temporalio.service.RPCError: Temporal did not answer, or knows no such workflow.
    """
    read: LogState | None = None
    async for read, event in reading_log(  # noqa: B007 # returned below
        client, task_id, run_id, render_result=render_result, earlier_runs=earlier_runs
    ):
        if watch is not None:
            watch(event)
    if read is None:
        raise NoTaskError(task_id)
    return read


async def reading_log(
    client: Client,
    task_id: str,
    run_id: str,
    *,
    render_result: Callable[[Any], list[Part]] | None = None,
    earlier_runs: int = _EARLIER_RUNS,
) -> AsyncIterator[tuple[LogState, HistoryEvent]]:
    """Do what :func:`read_log` does, event by event: yields the state after each of them."""
    state: LogState | None = None
    async for event in history_events(client, task_id, run_id):
        if state is None:
            state = await begun(
                client, task_id, event, render_result=render_result, earlier_runs=earlier_runs
            )
            state.run_id = run_of(event)
        else:
            await add_event(state, event, client)
        yield state, event


async def add_event(state: LogState, event: HistoryEvent, client: Client) -> None:
    """Fold a history event that follows; the state is changed at the very end, or not at all."""
    entry = await entry_of(event, client.data_converter)
    state.run_id = run_of(event) or state.run_id
    if entry is not None and not isinstance(entry, Successor):
        fold(state, entry)


async def begun(
    client: Client,
    task_id: str,
    event: HistoryEvent,
    *,
    render_result: Callable[[Any], list[Part]] | None = None,
    earlier_runs: int = _EARLIER_RUNS,
) -> LogState:
    """Return what a task is at the first event of a run.

    A run of a plain workflow carries nothing over from the run it continues, so that one is read as
    well, if Temporal still has it.

    Raises:
        NoTaskError: The workflow is no A2A task.
        temporalio.service.RPCError: Temporal did not answer.
    """
    start = await start_of(event, client.data_converter)
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
    state = begin(start)
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
    request = GetWorkflowExecutionHistoryRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=task_id, run_id=run_id),
        maximum_page_size=_PAGE_EVENTS,
    )
    async for event in _paged(client.workflow_service.get_workflow_execution_history, request):
        yield event


async def newest_events(client: Client, task_id: str, run_id: str) -> AsyncIterator[HistoryEvent]:
    """Yield the history events a run has now, the newest first; few come with the first page."""
    request = GetWorkflowExecutionHistoryReverseRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=task_id, run_id=run_id),
        maximum_page_size=_FEW_BATCHES,
    )
    read = client.workflow_service.get_workflow_execution_history_reverse
    async for event in _paged(read, request):
        yield event


async def _paged(read: Callable[..., Awaitable[Any]], request: Any) -> AsyncIterator[HistoryEvent]:
    """Yield the events of all pages; every page behind the first is a whole one."""
    while True:
        page = await reconnecting(lambda: read(request, retry=True, timeout=_RPC_TIMEOUT))
        for event in page.history.events:
            yield event
        if not page.next_page_token:
            return
        request.next_page_token = page.next_page_token
        request.maximum_page_size = _PAGE_EVENTS
