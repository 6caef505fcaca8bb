"""``a2a-temporal stuck``: open tasks whose workflow task fails repeatedly, the reason and cure."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timezone

import click
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.options import profile_option, verbose_option
from a2a_temporal._connect import connect
from a2a_temporal._gateway import OPEN, Gateway, is_missing_workflow
from a2a_temporal._log import wire
from a2a_temporal._log.entries import now_text
from a2a_temporal._reading.pages import newest_events

_FAILURES = 2
_LOOKED_AT = 1000
_REASON_CHARACTERS = 200
_OURS = (
    f"({wire.AGENT_ATTRIBUTE} IS NOT NULL OR WorkflowType IN "
    f"('{wire.AGENT_WORKFLOW}', '{wire.PUSH_WORKFLOW}'))"
)
_OURS_WITHOUT = f"WorkflowType IN ('{wire.AGENT_WORKFLOW}', '{wire.PUSH_WORKFLOW}')"
_REPORTED = "TemporalReportedProblems IS NOT NULL"

_NONDETERMINISM = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR
_KEYS = ("encrypt", "cannot decode", "decoding", "payload of the task log")


@dataclass(frozen=True)
class StuckTask:
    """A task whose workflow task fails.

    Attributes:
        task_id: The task, or the workflow of its deliveries.
        workflow_type: Its workflow.
        since: When the workflow task that fails was first to be run.
        attempts: How often it was tried.
        reason: Why it failed.
        cure: What to do.
    """

    task_id: str
    workflow_type: str
    since: str
    attempts: int
    reason: str
    cure: str


async def stuck_tasks(client: Client, *, looked_at: int = _LOOKED_AT) -> AsyncIterator[StuckTask]:
    """Yield the open tasks, of all agents, whose workflow task has failed more than once.

    Temporal 1.30 and later mark them after some failures; of an older one, or of tasks that have
    not failed as often, some open tasks are looked at one by one.

    Args:
        client: Connected client.
        looked_at: How many at most.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    found: set[str] = set()
    for query in (f"{OPEN} AND {_REPORTED}", OPEN):
        number = 0
        async for execution in _listed(client, query):
            number += 1
            if number > looked_at:
                break
            known = execution.execution.workflow_id in found
            stuck = None if known else await _look(client, execution)
            if stuck is not None:
                found.add(stuck.task_id)
                yield stuck


async def _listed(client: Client, condition: str) -> AsyncIterator[WorkflowExecutionInfo]:
    for ours in (_OURS, _OURS_WITHOUT):
        try:
            async for execution in Gateway(client).executions(f"{condition} AND {ours}"):
                yield execution
            return
        except RPCError as error:  # a server or a namespace that does not know the attributes
            if error.status != RPCStatusCode.INVALID_ARGUMENT:
                raise


async def _look(client: Client, execution: WorkflowExecutionInfo) -> StuckTask | None:
    task_id = execution.execution.workflow_id
    try:
        found = await Gateway(client).describe(task_id)
    except RPCError as error:
        if not is_missing_workflow(error):
            raise
        return None
    pending = found.pending_workflow_task
    if pending.attempt <= _FAILURES:
        return None
    reason, cure = await _why(client, found.workflow_execution_info.execution)
    since = pending.original_scheduled_time.ToDatetime()
    return StuckTask(
        task_id,
        execution.type.name,
        now_text(since.replace(tzinfo=timezone.utc)),
        pending.attempt,
        reason,
        cure,
    )


async def _why(client: Client, run: WorkflowExecution) -> tuple[str, str]:
    """Return why the last workflow task failed, and what heals that."""
    async for event in newest_events(Gateway(client), run.workflow_id, run.run_id):
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
            return (
                "a worker has taken it and not answered in time",
                "see whether the worker is alive, and what its log says",
            )
        if event.event_type != EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            continue
        failed = event.workflow_task_failed_event_attributes
        texts = [failed.failure.message, failed.failure.cause.message]
        reason = " ".join(": ".join(text for text in texts if text).split())
        return reason[:_REASON_CHARACTERS], _cure(failed.cause, reason)
    return "no reason is in its history yet", "see the log of its workers"


def _cure(cause: int, reason: str) -> str:
    if cause == _NONDETERMINISM or "TMPRL1100" in reason or "ondeterminis" in reason:
        return "its code no longer does what its history says: roll the workers back"
    if any(each in reason.lower() for each in _KEYS):
        return "give the workers the keys, codec and storage of the servers; see `doctor`"
    return "deploy workers in which this is put right; the task then goes on by itself"


@click.command()
@profile_option
@verbose_option
def stuck(profile: str | None, verbose: bool) -> None:
    """List the open tasks whose workflow task fails again and again.

    The exit code is 1 if there are any.
    """
    configure_logging(verbose=verbose)

    async def main(stop: asyncio.Event) -> int:
        found = 0
        async for task in stuck_tasks(await connect(profile=profile)):
            found += 1
            click.echo(
                f"{task.task_id}  {task.workflow_type}  {task.attempts} attempts since "
                f"{task.since}\n  {task.reason}\n  {task.cure}"
            )
            if stop.is_set():
                break
        if not found:
            click.echo("No task is stuck.")
        return int(found > 0)

    run(main)
