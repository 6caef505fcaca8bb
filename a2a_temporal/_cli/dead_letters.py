"""What receivers of push notifications never took: find it, and try again.

Delivery workflows publish the configs they gave up in their memo. All else, the missed events
included, still lies in the tasks' logs.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._executions import OPEN, OPEN_STATUSES, described, listed
from a2a_temporal._log import wire
from a2a_temporal._log.reading import NoTaskError, converter_of
from a2a_temporal._worker.push.contract import Delivery, PushEnd, PushStart, parse_deliveries
from a2a_temporal._worker.push.notifications import (
    NotificationLog,
    NotificationLogs,
    Position,
    present_configs,
)

_RPC_TIMEOUT = timedelta(seconds=10)
_FAILED = WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_FAILED
_NO_WORKER = "the task ended before a worker had run it"
_DEAD = (
    f"WorkflowType = '{wire.PUSH_WORKFLOW}' AND {wire.STATE_ATTRIBUTE} = '{wire.PUSH_DEAD_LETTERS}'"
)
_ALL = f"WorkflowType = '{wire.PUSH_WORKFLOW}'"
_HELD = f" AND ({OPEN} OR ExecutionStatus = 'Failed')"


@dataclass(frozen=True)
class DeadLetters:
    """The events that one config's receiver never took.

    Attributes:
        task_id: The task they tell of.
        config_id: The config.
        reason: What the last attempt met with.
        since: When the receiver was first found failing.
        missed: How many events; ``None`` when the log is no longer there.
        ended: The task has ended.
    """

    task_id: str
    config_id: str
    reason: str
    since: str
    missed: int | None
    ended: bool


async def dead_letters(client: Client, task_ids: Sequence[str] = ()) -> AsyncIterator[DeadLetters]:
    """Yield what has been given up, of some tasks or of all.

    Of tasks that are named also what nobody was told because no worker ran them.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    for task_id in task_ids:
        latest = await _latest(client, task_id)
        letters = await (_of(client, latest) if latest else _untold(client, task_id))
        for each in letters:
            yield each
    if task_ids:
        return
    found: set[str] = set()
    async for delivery in listed(client, await _query(client)):
        workflow_id = delivery.execution.workflow_id
        if workflow_id not in found:
            found.add(workflow_id)
            for each in await _of(client, await _latest_run(client, workflow_id)):
                yield each


async def redeliver(client: Client, task_id: str, config_ids: Sequence[str] = ()) -> bool:
    """Have the dead letters of a task delivered again, in order; those of all configs by default.

    Returns:
        Whether there were any.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    latest = await _latest(client, task_id)
    letters = await (_of(client, latest) if latest else _untold(client, task_id))
    dead = {each.config_id for each in letters}
    chosen = dead & set(config_ids) if config_ids else dead
    if not chosen:
        return False
    if latest is None:
        await _tell(client, task_id, chosen)
    elif latest.status in OPEN_STATUSES:
        running = client.get_workflow_handle(latest.execution.workflow_id)
        await running.signal(wire.PUSH_REDELIVER_SIGNAL, sorted(chosen), rpc_timeout=_RPC_TIMEOUT)
    else:
        start = await _start(client, latest.execution)
        deliveries = await _deliveries_left(client, latest.execution)
        for delivery in deliveries:
            if delivery.config_id in chosen:
                delivery.given_up = delivery.failing_since = ""
        again = replace(start, configs={}, previous="", deliveries=deliveries, closing=True)
        await _deliver(client, again, latest.task_queue)
    return True


async def _deliver(client: Client, start: PushStart, task_queue: str) -> None:
    await client.start_workflow(
        wire.PUSH_WORKFLOW,
        start,
        id=wire.push_workflow_id(start.task_id, start.number),
        task_queue=task_queue,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
        static_summary="Push notifications, delivered again",
        rpc_timeout=_RPC_TIMEOUT,
    )


async def _of(client: Client, child: WorkflowExecutionInfo) -> list[DeadLetters]:
    """Return what a delivery workflow has given up, but for configs that are deleted."""
    ended = child.status not in OPEN_STATUSES
    if ended and child.status != _FAILED:
        return []
    start = await _start(client, child.execution)
    found: list[DeadLetters] = []
    for delivery in await _given_up(client, child):
        log = await _log(client, start.task_id, delivery.position.run_id, start.run_id)
        push = (await present_configs(client, log)).get(delivery.config_id) if log else None
        if log is not None and (push is None or push.since != delivery.since):
            continue
        found.append(
            DeadLetters(
                task_id=start.task_id,
                config_id=delivery.config_id,
                reason=delivery.given_up,
                since=delivery.failing_since,
                missed=len(log.pending(push, delivery.position)) if log and push else None,
                ended=ended,
            )
        )
    return found


async def _untold(client: Client, task_id: str) -> list[DeadLetters]:
    """Return what nobody was told of a task that ended before a worker had run its first step."""
    log = await _untold_log(client, task_id)
    if log is None:
        return []
    present = await present_configs(client, log)
    return [
        DeadLetters(
            task_id=task_id,
            config_id=config_id,
            reason=_NO_WORKER,
            since=log.state.start.at,
            missed=len(log.pending(push, Position(log.first_run_id))),
            ended=True,
        )
        for config_id, push in log.configs.items()
        if config_id in present and present[config_id].since == push.since
    ]


async def _tell(client: Client, task_id: str, config_ids: set[str]) -> None:
    """Start the deliveries that a task without any never got to start."""
    log = await _untold_log(client, task_id)
    if log is None:
        return
    task = await _latest_run(client, task_id)
    deliveries = [
        Delivery(
            config_id,
            push.since,
            push.revision,
            Position(log.first_run_id),
            given_up="" if config_id in config_ids else _NO_WORKER,
        )
        for config_id, push in log.configs.items()
    ]
    start = PushStart(
        task_id=task_id,
        run_id=log.first_run_id,
        number=1,
        deliveries=deliveries,
        closing=True,
        search_attributes=log.state.start.search_attributes,
    )
    await _deliver(client, start, task.task_queue)


async def _untold_log(client: Client, task_id: str) -> NotificationLog | None:
    """Read the log of a task that has ended without ever having a delivery workflow."""
    try:
        task = await _latest_run(client, task_id)
        log = await _log(client, task_id, task.execution.run_id)
    except NoTaskError:
        return None
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return None
        raise
    return log if log is not None and log.closed else None


async def _log(client: Client, task_id: str, *run_ids: str) -> NotificationLog | None:
    """Read a task's log; ``None`` when it is no longer there."""
    try:
        return await NotificationLogs().read(client, task_id, run_ids=run_ids, thoroughly=True)
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return None
        raise


async def _query(client: Client) -> str:
    """Ask for the attribute where visibility knows it, else look at every delivery workflow."""
    try:
        await client.count_workflows(_DEAD, rpc_timeout=_RPC_TIMEOUT)
    except RPCError as error:
        if error.status != RPCStatusCode.INVALID_ARGUMENT:
            raise
        return _ALL + _HELD
    return _DEAD + _HELD


async def _latest(client: Client, task_id: str) -> WorkflowExecutionInfo | None:
    """Describe the delivery workflow of a task's last run."""
    latest: WorkflowExecutionInfo | None = None
    number = 1
    while True:
        try:
            latest = await _latest_run(client, wire.push_workflow_id(task_id, number))
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return latest
            raise
        number += 1


async def _latest_run(client: Client, workflow_id: str) -> WorkflowExecutionInfo:
    found = await described(client, workflow_id, timeout=_RPC_TIMEOUT)
    return found.workflow_execution_info


async def _given_up(client: Client, child: WorkflowExecutionInfo) -> list[Delivery]:
    if wire.PUSH_MEMO not in child.memo.fields:
        return []
    payload = child.memo.fields[wire.PUSH_MEMO]
    (deliveries,) = await converter_of(client, child.execution.workflow_id).decode([payload])
    return parse_deliveries(deliveries)


async def _start(client: Client, run: WorkflowExecution) -> PushStart:
    workflow = client.get_workflow_handle(run.workflow_id, run_id=run.run_id)
    async for event in workflow.fetch_history_events(page_size=1):
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        (start,) = await converter_of(client, run.workflow_id).decode(payloads, [PushStart])
        return start
    raise LookupError(f"workflow {run.workflow_id!r} has no history")


async def _deliveries_left(client: Client, run: WorkflowExecution) -> list[Delivery]:
    workflow = client.get_workflow_handle(run.workflow_id, run_id=run.run_id)
    try:
        await workflow.result(rpc_timeout=_RPC_TIMEOUT)
    except WorkflowFailureError as error:
        if isinstance(error.cause, ApplicationError) and error.cause.details:
            return PushEnd.parse(error.cause.details[0]).deliveries
    return []
