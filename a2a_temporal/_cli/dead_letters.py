"""What receivers of push notifications never took: find it, and try again.

Delivery workflows publish the configs they gave up in their memo. All else, the missed events
included, still lies in the tasks' logs.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
)
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._log import wire
from a2a_temporal._worker.push_lane import Lane, PushEnd, PushStart, parse_lanes
from a2a_temporal._worker.push_log import PushLogs

_RPC_TIMEOUT = timedelta(seconds=10)
_DEAD = f"WorkflowType = '{wire.PUSH_WORKFLOW}' AND {wire.PUSH_ATTRIBUTE} = 'dead-letters'"
_ALL = f"WorkflowType = '{wire.PUSH_WORKFLOW}'"
_OPEN = " AND ExecutionStatus IN ('Running', 'Failed')"


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

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    async for workflow_id in _workflow_ids(client, task_ids):
        described = await client.get_workflow_handle(workflow_id).describe(rpc_timeout=_RPC_TIMEOUT)
        if described.status not in (
            WorkflowExecutionStatus.RUNNING,
            WorkflowExecutionStatus.FAILED,
        ):
            continue
        start = await _start(client, described)
        for lane in parse_lanes(await described.memo_value(wire.PUSH_MEMO, default=[])):
            yield DeadLetters(
                task_id=start.task_id,
                config_id=lane.config_id,
                reason=lane.given_up,
                since=lane.failing_since,
                missed=await _missed(client, start, lane),
                ended=described.status != WorkflowExecutionStatus.RUNNING,
            )


async def redeliver(client: Client, task_id: str, config_ids: Sequence[str] = ()) -> bool:
    """Have the dead letters of a task delivered again, in order; those of all configs by default.

    Returns:
        Whether there were any.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    described = await _latest(client, task_id)
    if described is None:
        return False
    lanes = parse_lanes(await described.memo_value(wire.PUSH_MEMO, default=[]))
    chosen = {lane.config_id for lane in lanes if not config_ids or lane.config_id in config_ids}
    if not chosen:
        return False
    if described.status == WorkflowExecutionStatus.RUNNING:
        running = client.get_workflow_handle(described.id)
        await running.signal(wire.PUSH_REDELIVER_SIGNAL, sorted(chosen), rpc_timeout=_RPC_TIMEOUT)
        return True
    if described.status != WorkflowExecutionStatus.FAILED:
        return False
    start = await _start(client, described)
    lanes = await _lanes_left(client, described)
    for lane in lanes:
        if lane.config_id in chosen:
            lane.given_up = lane.failing_since = ""
    await client.start_workflow(
        wire.PUSH_WORKFLOW,
        PushStart(
            task_id=task_id,
            run_id=start.run_id,
            number=start.number,
            lanes=lanes,
            closing=True,
            search_attributes=start.search_attributes,
        ),
        id=described.id,
        task_queue=described.task_queue,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
        static_summary="Push notifications, delivered again",
        rpc_timeout=_RPC_TIMEOUT,
    )
    return True


async def _workflow_ids(client: Client, task_ids: Sequence[str]) -> AsyncIterator[str]:
    if task_ids:
        for task_id in task_ids:
            described = await _latest(client, task_id)
            if described is not None:
                yield described.id
        return
    found: set[str] = set()
    async for listed in client.list_workflows(await _query(client)):
        if listed.id not in found:
            found.add(listed.id)
            yield listed.id


async def _query(client: Client) -> str:
    """Ask for the attribute where visibility knows it, else look at every delivery workflow."""
    try:
        await client.count_workflows(_DEAD, rpc_timeout=_RPC_TIMEOUT)
    except RPCError as error:
        if error.status != RPCStatusCode.INVALID_ARGUMENT:
            raise
        return _ALL + _OPEN
    return _DEAD + _OPEN


async def _latest(client: Client, task_id: str) -> WorkflowExecutionDescription | None:
    """Describe the delivery workflow of a task's last run."""
    latest: WorkflowExecutionDescription | None = None
    number = 1
    while True:
        workflow = client.get_workflow_handle(wire.push_workflow_id(task_id, number))
        try:
            latest = await workflow.describe(rpc_timeout=_RPC_TIMEOUT)
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return latest
            raise
        number += 1


async def _start(client: Client, described: WorkflowExecutionDescription) -> PushStart:
    workflow = client.get_workflow_handle(described.id, run_id=described.run_id)
    async for event in workflow.fetch_history_events(page_size=1):
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        (start,) = await client.data_converter.decode(payloads, [PushStart])
        return start
    raise LookupError(f"workflow {described.id!r} has no history")


async def _lanes_left(client: Client, described: WorkflowExecutionDescription) -> list[Lane]:
    workflow = client.get_workflow_handle(described.id, run_id=described.run_id)
    try:
        await workflow.result(rpc_timeout=_RPC_TIMEOUT)
    except WorkflowFailureError as error:
        if isinstance(error.cause, ApplicationError) and error.cause.details:
            return PushEnd.parse(error.cause.details[0]).lanes
    return []


async def _missed(client: Client, start: PushStart, lane: Lane) -> int | None:
    try:
        log = await PushLogs().read(
            client, start.task_id, run_ids=[lane.position.run_id, start.run_id], thoroughly=True
        )
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return None
        raise
    push = log.configs.get(lane.config_id)
    return len(log.pending(push, lane.position)) if push is not None else None
