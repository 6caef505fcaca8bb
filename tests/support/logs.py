"""A task's log as recorded: every entry of every run, and the Task after each of them."""

from collections.abc import AsyncGenerator
from typing import Any

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from a2a_temporal._gateway import Gateway, converter_of
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.state import LogState, begin
from a2a_temporal._reading.decode import Successor, entry_of, start_of
from a2a_temporal._reading.pages import history_events
from tests.support.waiting import eventually


async def first_run(client: Client, task_id: str) -> str:
    """The id of the run a task began with."""
    async for event in history_events(Gateway(client), task_id, ""):
        return event.workflow_execution_started_event_attributes.first_execution_run_id
    raise AssertionError(f"task {task_id} has no history")


async def at_rest(client: Client, task_id: str) -> None:
    """Wait until Temporal has nothing to do for a task.

    A signal is then in the log at once; one that comes during a workflow task is so only after it.
    """

    async def look() -> bool:
        described = await client.get_workflow_handle(task_id).describe()
        raw = described.raw_description
        return not raw.HasField("pending_workflow_task") and not raw.pending_activities

    await eventually(look, within=20, what=f"the rest of {task_id}")


async def all_events(client: Client, task_id: str, run_id: str) -> AsyncGenerator[HistoryEvent]:
    """Every event of a run and of those that continue it."""
    following = run_id
    while following:
        run, following = following, ""
        async for event in history_events(Gateway(client), task_id, run):
            yield event
            found = await _successor(event, client)
            following = found or following


async def prefixes(client: Client, task_id: str) -> list[dict[str, Any]]:
    """The Task after the start of a log and after each of its entries."""
    state: LogState | None = None
    seen: list[dict[str, Any]] = []
    async for event in all_events(client, task_id, await first_run(client, task_id)):
        converter = converter_of(client, task_id)
        if event.HasField("workflow_execution_started_event_attributes"):
            start = await start_of(event, converter)
            assert start is not None
            state = begin(start)
        else:
            assert state is not None
            entry = await entry_of(event, converter)
            if entry is None or isinstance(entry, Successor):
                continue
            fold(state, entry)
        seen.append(to_json(state.task))
    return seen


async def successor_of(client: Client, task_id: str, run_id: str) -> str:
    """The id of the run that continued one as new; empty when none did."""
    found = ""
    async for event in history_events(Gateway(client), task_id, run_id):
        found = await _successor(event, client)
    return found


async def _successor(event: HistoryEvent, client: Client) -> str:
    if not event.HasField("workflow_execution_continued_as_new_event_attributes"):
        return ""
    entry = await entry_of(event, client.data_converter)
    assert isinstance(entry, Successor)
    return entry.run_id
