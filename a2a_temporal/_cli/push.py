"""``a2a-temporal push``: find and redeliver the notifications that receivers did not accept.

A delivery workflow shows the configs that it has given up: in its memo while it is open, and in its
failure once it has ended. The missed events are still in the tasks' logs.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

import click
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._cli.console import configure_logging, run
from a2a_temporal._cli.options import profile_option, verbose_option
from a2a_temporal._connect import connect
from a2a_temporal._gateway import (
    OPEN,
    OPEN_STATUSES,
    Gateway,
    converter_of,
    is_missing_workflow,
    lacks_attributes,
)
from a2a_temporal._log import wire
from a2a_temporal._reading.position import LogPosition
from a2a_temporal._reading.reader import NoTaskError
from a2a_temporal._worker.push.contract import Delivery, PushEnd, PushStart, parse_deliveries
from a2a_temporal._worker.push.notifications import (
    NotificationLog,
    NotificationLogs,
    present_configs,
)

_FAILED = WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_FAILED
_NO_WORKER = "the task ended before a worker had run it"
_DEAD = (
    f"WorkflowType = '{wire.PUSH_WORKFLOW}' AND {wire.STATE_ATTRIBUTE} = '{wire.PUSH_DEAD_LETTERS}'"
)
_ALL = f"WorkflowType = '{wire.PUSH_WORKFLOW}'"
_HELD = f" AND ({OPEN} OR ExecutionStatus = 'Failed')"


@dataclass(frozen=True)
class DeadLetters:
    """The events that one config's receiver did not accept.

    Attributes:
        task_id: The task of the events.
        config_id: The config.
        reason: The failure of the last attempt.
        since: When the receiver first failed.
        missed: How many events; ``None`` when the log is no longer there.
        ended: The task has ended.
    """

    task_id: str
    config_id: str
    reason: str
    since: str
    missed: int | None
    ended: bool


@dataclass(frozen=True)
class _GivenUp:
    """The deliveries of a task's last run, and the dead letters among them.

    ``start`` is the input with which a delivery workflow goes on from these deliveries.
    """

    start: PushStart
    task_queue: str
    ended: bool
    letters: list[DeadLetters]


async def dead_letters(client: Client, task_ids: Sequence[str] = ()) -> AsyncIterator[DeadLetters]:
    """Yield the dead letters of some tasks, or of all.

    For named tasks this includes events that were never delivered because no worker ran the task.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    gateway = Gateway(client)
    for task_id in task_ids:
        given_up = await _given_up(gateway, task_id)
        for each in given_up.letters if given_up else ():
            yield each
    if task_ids:
        return
    found: set[str] = set()
    async for child in gateway.executions(await _query(gateway)):
        workflow_id = child.execution.workflow_id
        if workflow_id not in found:
            found.add(workflow_id)
            newest = await _described(gateway, workflow_id)
            given_up = await _given_up_by(gateway, newest) if newest else None
            for each in given_up.letters if given_up else ():
                yield each


async def redeliver(client: Client, task_id: str, config_ids: Sequence[str] = ()) -> bool:
    """Have the dead letters of a task delivered again, in order; those of all configs by default.

    Returns:
        Whether there were any.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    gateway = Gateway(client)
    given_up = await _given_up(gateway, task_id)
    if given_up is None:
        return False
    dead = {each.config_id for each in given_up.letters}
    chosen = dead & set(config_ids) if config_ids else dead
    if not chosen:
        return False
    start = given_up.start
    workflow_id = wire.push_workflow_id(task_id, start.number)
    if not given_up.ended:
        await gateway.signal(workflow_id, wire.PUSH_REDELIVER_SIGNAL, [sorted(chosen)])
        return True
    deliveries = [
        replace(each, given_up="", failing_since="") if each.config_id in chosen else each
        for each in start.deliveries
    ]
    await gateway.start(
        wire.PUSH_WORKFLOW,
        [replace(start, configs={}, previous="", deliveries=deliveries, closing=True)],
        workflow_id=workflow_id,
        task_queue=given_up.task_queue,
        reuse=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
        summary="Push notifications, delivered again",
    )
    return True


async def _given_up(gateway: Gateway, task_id: str) -> _GivenUp | None:
    """Return what the last delivery workflow of a task has given up."""
    newest: WorkflowExecutionInfo | None = None
    number = 1
    while child := await _described(gateway, wire.push_workflow_id(task_id, number)):
        newest, number = child, number + 1
    if newest is None:
        return await _never_begun(gateway, task_id)
    return await _given_up_by(gateway, newest)


async def _given_up_by(gateway: Gateway, child: WorkflowExecutionInfo) -> _GivenUp | None:
    ended = child.status not in OPEN_STATUSES
    if ended and child.status != _FAILED:
        return None
    start = await _start(gateway, child.execution)
    left = _left_by_failed if ended else _left_by_open
    start = replace(start, deliveries=await left(gateway.client, child))
    letters = await _letters(gateway.client, start, ended=ended)
    return _GivenUp(start, child.task_queue, ended, letters)


async def _never_begun(gateway: Gateway, task_id: str) -> _GivenUp | None:
    """Return all deliveries of a task that ended before a worker had run its first step."""
    task = await _described(gateway, task_id)
    if task is None:
        return None
    try:
        log = await _log(gateway.client, NotificationLogs(), task_id, task.execution.run_id)
    except NoTaskError:
        return None
    if log is None or not log.closed:
        return None
    state, first = log.state, log.first_run_id
    deliveries = [
        Delivery(
            config_id, push.since, push.revision, LogPosition(first), state.start.at, _NO_WORKER
        )
        for config_id, push in log.configs.items()
    ]
    start = PushStart(
        task_id=task_id,
        run_id=first,
        number=1,
        deliveries=deliveries,
        search_attributes=state.start.search_attributes,
    )
    letters = await _letters(gateway.client, start, ended=True)
    return _GivenUp(start, task.task_queue, True, letters)


async def _letters(client: Client, start: PushStart, *, ended: bool) -> list[DeadLetters]:
    """Return the dead letters of configs that are not deleted."""
    logs, letters = NotificationLogs(), list[DeadLetters]()
    for each in start.deliveries:
        if not each.given_up:
            continue
        log = await _log(client, logs, start.task_id, each.position.run_id, start.run_id)
        push = (await present_configs(client, log)).get(each.config_id) if log else None
        if log and (push is None or push.since != each.since):
            continue
        letters.append(
            DeadLetters(
                task_id=start.task_id,
                config_id=each.config_id,
                reason=each.given_up,
                since=each.failing_since,
                missed=len(log.pending(push, each.position)) if log and push else None,
                ended=ended,
            )
        )
    return letters


async def _log(
    client: Client, logs: NotificationLogs, task_id: str, *run_ids: str
) -> NotificationLog | None:
    """Read a task's log; ``None`` when it is no longer there."""
    try:
        return await logs.read(client, task_id, run_ids=run_ids)
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return None
        raise


async def _query(gateway: Gateway) -> str:
    """Ask for the attribute where visibility knows it, else look at every delivery workflow."""
    try:
        await gateway.count(_DEAD)
    except RPCError as error:
        if not lacks_attributes(error):
            raise
        return _ALL + _HELD
    return _DEAD + _HELD


async def _described(gateway: Gateway, workflow_id: str) -> WorkflowExecutionInfo | None:
    try:
        return (await gateway.describe(workflow_id)).workflow_execution_info
    except RPCError as error:
        if not is_missing_workflow(error):
            raise
        return None


async def _start(gateway: Gateway, run: WorkflowExecution) -> PushStart:
    page = await gateway.history_page(run.workflow_id, run.run_id, size=1)
    payloads = page.history.events[0].workflow_execution_started_event_attributes.input.payloads
    (start,) = await converter_of(gateway.client, run.workflow_id).decode(payloads, [PushStart])
    return start


async def _left_by_open(client: Client, child: WorkflowExecutionInfo) -> list[Delivery]:
    if wire.PUSH_MEMO not in child.memo.fields:
        return []
    payload = child.memo.fields[wire.PUSH_MEMO]
    (deliveries,) = await converter_of(client, child.execution.workflow_id).decode([payload])
    return parse_deliveries(deliveries)


async def _left_by_failed(client: Client, child: WorkflowExecutionInfo) -> list[Delivery]:
    run = child.execution
    try:
        await client.get_workflow_handle(run.workflow_id, run_id=run.run_id).result()
    except WorkflowFailureError as error:
        if isinstance(error.cause, ApplicationError) and error.cause.details:
            return PushEnd.parse(error.cause.details[0]).deliveries
    return []


@click.group()
def push() -> None:
    """List and redeliver push notifications that receivers did not accept.

    A receiver that has failed for too long (PushOptions) is given up. The events that it missed
    stay in the task's log, for as long as the namespace keeps closed workflows.
    """


@push.command("list")
@click.argument("task_ids", metavar="[TASK]...", nargs=-1)
@profile_option
@verbose_option
def list_command(task_ids: tuple[str, ...], profile: str | None, verbose: bool) -> None:
    """List the receivers that were given up, for some tasks or for all."""
    configure_logging(verbose=verbose)

    async def main(stop: asyncio.Event) -> int:
        client = await connect(profile=profile)
        number = 0
        try:
            async for letters in dead_letters(client, task_ids):
                _show(letters)
                number += 1
                if stop.is_set():
                    break
        except RPCError as error:
            raise click.ClickException(f"Temporal answered {error.status.name}") from error
        if not number:
            click.echo("Nothing was given up.")
        return 0

    run(main)


@push.command("redeliver")
@click.argument("task_ids", metavar="[TASK]...", nargs=-1)
@click.option("--config", "config_ids", multiple=True, help="Only to this config; repeatable.")
@click.option("--all", "everything", is_flag=True, help="For all tasks with missed events.")
@profile_option
@verbose_option
def redeliver_command(
    task_ids: tuple[str, ...],
    config_ids: tuple[str, ...],
    everything: bool,
    profile: str | None,
    verbose: bool,
) -> None:
    """Deliver the missed events again, in order, from the first one that was not accepted.

    The exit code is 1 if a named task has nothing to deliver.
    """
    if bool(task_ids) == everything:
        raise click.UsageError("name the tasks, or use --all")
    configure_logging(verbose=verbose)

    async def main(stop: asyncio.Event) -> int:
        client = await connect(profile=profile)
        missing = False
        try:
            chosen = list(task_ids)
            if everything:
                chosen = sorted({each.task_id async for each in dead_letters(client)})
            for task_id in chosen:
                if stop.is_set():
                    break
                begun = await redeliver(client, task_id, config_ids)
                click.echo(f"{task_id}  {'delivered again' if begun else 'nothing was given up'}")
                missing = missing or not begun
        except RPCError as error:
            raise click.ClickException(f"Temporal answered {error.status.name}") from error
        return int(missing)

    run(main)


def _show(letters: DeadLetters) -> None:
    missed = "?" if letters.missed is None else letters.missed
    click.echo(
        f"{letters.task_id}  {'ended' if letters.ended else 'running'}  config {letters.config_id}"
        f"  {missed} missed since {letters.since or '?'}  {letters.reason}"
    )
