"""Audit records: those of a task, and those that only an earlier run of it has."""

import asyncio
import logging
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import Gateway
from a2a_temporal._log.indexing import quote
from a2a_temporal._log.published import agent_messages, published
from a2a_temporal._log.requests import Record
from a2a_temporal._log.state import LogState
from a2a_temporal._reading.decode import LogUnreadableError
from a2a_temporal._reading.reader import read_log
from a2a_temporal._server.waiting import Waiting

logger = logging.getLogger("a2a_temporal.server")

PASSING = (RPCError, OSError, asyncio.TimeoutError)
"""What says that Temporal did not answer, rather than that one task cannot be read."""


class UnreadableTaskError(Exception):
    """A task cannot be read by this process: it lacks the key, or the file, of what the task holds.

    Its cause says which.
    """


def records_of(state: LogState) -> dict[str, Record]:
    """Return the audit records of a task, in order, by the messages that say them."""
    found = ((each.message_id, published(each).record) for each in agent_messages(state))
    return {message_id: record for message_id, record in found if record is not None}


def unreadable_because(task_id: str, error: Exception) -> str:
    """Log why a task cannot be read; returns the reason for people."""
    if isinstance(error, (UnreadableTaskError, LogUnreadableError)):
        logger.error("Task %s is left out. It cannot be read: %s", task_id, error.__cause__)
        return f"It cannot be read here: {error.__cause__ or error}."
    logger.error("Task %s is left out. It cannot be read", task_id, exc_info=error)
    return f"It cannot be read: {type(error).__name__}."


async def runs_of(client: Client, task_ids: list[str]) -> dict[str, list[str]]:
    """Return the ids of all runs of tasks that Temporal still has."""
    runs: dict[str, list[str]] = {}
    if task_ids:
        ids = ", ".join(map(quote, task_ids))
        async for found in Gateway(client).executions(f"WorkflowId IN ({ids})"):
            run = found.execution
            runs.setdefault(run.workflow_id, []).append(run.run_id)
    return runs


async def exported_records(
    client: Client, task: Waiting, runs: list[str], unreadable: dict[str, str]
) -> list[dict[str, Any]]:
    """Return the records of a task, also those that only an earlier run of it has."""
    state = task.state
    records = records_of(state)
    replaced: dict[str, Record] = {}
    problems = task.problems
    if set(runs) - {state.run_id}:
        try:
            kept, replaced = await _records_of_earlier_runs(client, state, runs)
            records = kept | records
        except PASSING:
            raise
        except Exception as error:  # as above
            problems = [*problems, f"An earlier run: {unreadable_because(task.task_id, error)}"]
    if problems:
        unreadable[task.task_id] = " ".join(problems)
    about = {
        "task": task.task_id,
        "agent": state.start.agent,
        "owner": state.start.owner,
        "tenant": state.start.tenant,
        "context": state.task.context_id,
    }
    listed = [(record, False) for record in records.values()]
    listed += [(record, True) for record in replaced.values()]
    return [
        {**about, **record.to_json(), "superseded": superseded}
        for record, superseded in sorted(listed, key=lambda each: each[0].at)
    ]


async def _records_of_earlier_runs(
    client: Client, state: LogState, runs: list[str]
) -> tuple[dict[str, Record], dict[str, Record]]:
    """Return what the runs before the newest have decided, and what runs replaced by a reset.

    A run that continues as new hands everything on; a reset run has the beginning of another.
    """
    found: dict[str, dict[str, Record]] = {}
    continued: dict[str, str] = {}

    def note(event: HistoryEvent) -> None:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
            started = event.workflow_execution_started_event_attributes
            continued[run_id] = started.continued_execution_run_id

    for run_id in dict.fromkeys([*runs, state.run_id]):
        try:
            read = await read_log(client, state.task.id, run_id=run_id, watch=note)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            continue  # it was too old to be kept, just now
        found[run_id] = records_of(read)
    current, run_id = dict[str, Record](), state.run_id
    while run_id in found:
        current = found.pop(run_id) | current
        run_id = continued[run_id]
    replaced: dict[str, Record] = {}
    for records in found.values():
        replaced |= {key: each for key, each in records.items() if key not in current}
    return current, replaced
