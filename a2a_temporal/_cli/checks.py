"""The checks of ``doctor``. Each gives one finding and changes nothing."""

import asyncio
import contextlib
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum

from temporalio.api.deployment.v1 import WorkerDeploymentVersion
from temporalio.api.enums.v1 import (
    IndexedValueType,
    TaskQueueType,
    VersionDrainageStatus,
    WorkerVersioningMode,
)
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceResponse,
    DescribeTaskQueueRequest,
    DescribeTaskQueueResponse,
    DescribeWorkerDeploymentRequest,
    GetClusterInfoRequest,
    GetSystemInfoRequest,
    PollActivityTaskQueueRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._cli.stuck import stuck_tasks
from a2a_temporal._gateway import OPEN, Gateway
from a2a_temporal._log import wire
from a2a_temporal._log.wire import SEARCH_ATTRIBUTES
from a2a_temporal._server.search_attributes import (
    LATE,
    NO_ROOM,
    WITHOUT,
    registration_command,
)


class Level(Enum):
    """How a check ended."""

    OK = "ok"
    NOTE = "note"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Finding:
    """What a check found, and what to do about it."""

    level: Level
    name: str
    text: str


OPEN_UNINDEXED = f"{OPEN} AND {wire.AGENT_ATTRIBUTE} IS NULL"
"""The open workflows that are not indexed, tasks or not."""

_UNINDEXED_TASKS = f"{OPEN_UNINDEXED} AND WorkflowType = '{wire.AGENT_WORKFLOW}'"
# Of executors; the workflows of authors have other types.

_SHORT_RETENTION = timedelta(days=3)
_CLOCK_TOLERANCE = timedelta(seconds=2)
_CLOCK_WAIT = 3.0
_LOOKED_AT = 50
_SHOWN = 3
_SQL_LIMITS = {"Keyword": 10, "Datetime": 3, "KeywordList": 3}


async def connection(client: Client) -> Finding:
    info = await Gateway(client).call(
        client.workflow_service.get_system_info, GetSystemInfoRequest()
    )
    config = client.service_client.config
    security = "TLS" if config.tls or (config.tls is None and config.api_key) else "no TLS"
    key = ", API key" if config.api_key else ""
    return Finding(
        Level.OK,
        "connection",
        f"{config.target_host}, Temporal {info.server_version or 'of unknown version'}, "
        f"{security}{key}",
    )


async def namespace(client: Client, found: DescribeNamespaceResponse) -> Finding:
    return Finding(Level.OK, "namespace", found.namespace_info.name or client.namespace)


async def retention(client: Client, found: DescribeNamespaceResponse) -> Finding:
    kept = found.config.workflow_execution_retention_ttl.ToTimedelta()
    text = f"finished tasks can be read for {_duration(kept)}, then they are unknown"
    if kept >= _SHORT_RETENTION:
        return Finding(Level.OK, "retention", text)
    return Finding(
        Level.NOTE,
        "retention",
        f"{text}; longer: temporal operator namespace update -n {client.namespace} --retention 30d",
    )


async def search_attributes(client: Client) -> Finding:
    name = "search attributes"
    request = ListSearchAttributesRequest(namespace=client.namespace)
    answer = await Gateway(client).call(client.operator_service.list_search_attributes, request)
    known = {
        attribute: IndexedValueType.Name(kind).removeprefix("INDEXED_VALUE_TYPE_")
        for attribute, kind in answer.custom_attributes.items()
    }
    missing = [attribute for attribute in SEARCH_ATTRIBUTES if attribute not in known]
    if missing:
        full = await _full(client, known, missing)
        cure = NO_ROOM if full else f"Run: {registration_command(client.namespace, missing)}"
        return Finding(Level.FAIL, name, f"missing: {', '.join(missing)}. {full}{WITHOUT} {cure}")
    wrong = [
        f"{attribute} is {known[attribute]}, not {kind}"
        for attribute, kind in SEARCH_ATTRIBUTES.items()
        if known[attribute].replace("_", "") != kind.upper()
    ]
    if wrong:
        return Finding(
            Level.FAIL, name, f"of another type: {', '.join(wrong)}; use another namespace"
        )
    return Finding(Level.OK, name, f"all {len(SEARCH_ATTRIBUTES)} are registered")


async def _full(client: Client, known: dict[str, str], missing: list[str]) -> str:
    """Return that the namespace has no room for what is missing; empty where it has."""
    cluster = await Gateway(client).call(
        client.workflow_service.get_cluster_info, GetClusterInfoRequest()
    )
    if not cluster.visibility_store.startswith(("sqlite", "mysql", "postgres")):
        return ""
    for kind, most in _SQL_LIMITS.items():
        needed = sum(SEARCH_ATTRIBUTES[name] == kind for name in missing)
        used = sum(each.replace("_", "") == kind.upper() for each in known.values())
        if used + needed > most:
            return (
                f"The visibility store takes {most} of type {kind}, {used} are in use, and "
                f"{needed} more are needed. "
            )
    return ""


async def unindexed(client: Client) -> Finding:
    """Are there open tasks that began before the namespace had the search attributes?"""
    name = "index"
    try:
        found = await Gateway(client).count(_UNINDEXED_TASKS)
    except RPCError as error:
        if error.status != RPCStatusCode.INVALID_ARGUMENT:
            raise
        return Finding(Level.NOTE, name, "not checked: the search attributes are missing")
    if found:
        return Finding(Level.NOTE, name, f"{found} open tasks are not listed. {LATE}")
    return Finding(Level.OK, name, "all open tasks of executors are listed")


async def stuck(client: Client) -> Finding:
    name = "stuck tasks"
    found = [task async for task in stuck_tasks(client, looked_at=_LOOKED_AT)]
    if not found:
        return Finding(Level.OK, name, "none found")
    shown = "; ".join(f"{task.task_id}: {task.reason} ({task.cure})" for task in found[:_SHOWN])
    return Finding(Level.FAIL, name, f"{len(found)}, see a2a-temporal stuck. {shown}")


async def pollers(client: Client, task_queue: str | None) -> Finding:
    name = "workers"
    if not task_queue:
        return Finding(Level.NOTE, name, "not checked: name the queue with --task-queue")
    workflows, activities = await asyncio.gather(
        _describe(client, task_queue, TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW),
        _describe(client, task_queue, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY),
    )
    workers = {poller.identity for poller in (*workflows.pollers, *activities.pollers)}
    if not workflows.pollers:
        return Finding(
            Level.FAIL,
            name,
            f"none listens on {task_queue!r}, new tasks wait; "
            f"run: a2a-temporal worker AGENT --task-queue {task_queue}",
        )
    if not activities.pollers:
        return Finding(
            Level.FAIL, name, f"those on {task_queue!r} run workflows only: no agent's turn is run"
        )
    return Finding(
        Level.OK, name, f"{len(workers)} on {task_queue!r}: {', '.join(sorted(workers))}"
    )


async def clock(client: Client) -> Finding:
    """Compare clocks: Temporal notes when a poller was last there, so we poll a queue of our own.

    Nothing is ever put into that queue, and Temporal forgets it.
    """
    name = "clock"
    queue = f"a2a-temporal-doctor-{uuid.uuid4()}"
    before = datetime.now(timezone.utc)
    request = PollActivityTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), identity="doctor"
    )
    poll = Gateway(client).call(client.workflow_service.poll_activity_task_queue, request)
    polling = asyncio.ensure_future(poll)
    try:
        there = await asyncio.wait_for(_last_access(client, queue), _CLOCK_WAIT)
    except asyncio.TimeoutError:
        return Finding(Level.NOTE, name, "could not be compared with Temporal's")
    finally:
        polling.cancel()
        with contextlib.suppress(asyncio.CancelledError, RPCError):
            await polling
    after = datetime.now(timezone.utc)
    ahead = max(before - there, there - after, timedelta(0))
    if ahead <= _CLOCK_TOLERANCE:
        return Finding(Level.OK, name, "agrees with Temporal's")
    direction = "ahead of" if there < before else "behind"
    return Finding(
        Level.FAIL,
        name,
        f"this machine is {ahead.total_seconds():.0f} s {direction} Temporal: synchronize it (NTP)",
    )


async def _last_access(client: Client, queue: str) -> datetime:
    while True:
        found = await _describe(client, queue, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
        for poller in found.pollers:
            return poller.last_access_time.ToDatetime(timezone.utc)
        await asyncio.sleep(0.1)


async def _describe(
    client: Client, queue: str, kind: TaskQueueType.ValueType
) -> DescribeTaskQueueResponse:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind
    )
    return await Gateway(client).call(client.workflow_service.describe_task_queue, request)


def _duration(span: timedelta) -> str:
    if span < timedelta(days=1):
        return f"{span.total_seconds() / 3600:g} hours"
    return "1 day" if span.days == 1 else f"{span.days} days"


def reason(error: RPCError) -> str:
    if error.status in (RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED):
        return "these credentials may not ask"
    return f"Temporal answered {error.status.name}"


_NAME = "versions"
_CURE = "start such workers again, or move the tasks to another version"

Version = tuple[str, str]
"""The name of a worker deployment, and a build id."""


async def versions(client: Client, task_queue: str | None) -> Finding:
    """Look for versions that tasks of a queue wait for, and that no worker runs."""
    if not task_queue:
        return Finding(Level.NOTE, _NAME, "not checked: name the queue with --task-queue")
    queue = await _described(client, task_queue)
    running = _running(queue)
    routing = queue.versioning_info
    routed = _named(routing.current_deployment_version, routing.ramping_deployment_version)
    draining: list[Version] = []
    for name in sorted({name for name, _ in (*routed, *running)}):
        draining += await _draining(client, name)
    return judged(routed=routed, running=running, draining=draining)


def judged(
    *, routed: Sequence[Version], running: Collection[Version], draining: Sequence[Version]
) -> Finding:
    """Say what is wrong with the versions of a queue.

    Args:
        routed: Those that new tasks go to: the current one, then the ramping one.
        running: Those that have workers.
        draining: Those that get no new tasks and have open ones.
    """
    if not running and not routed:
        return Finding(Level.OK, _NAME, "no worker versioning")
    if not routed:
        name, build_id = min(running)
        return Finding(
            Level.FAIL,
            _NAME,
            f"no version is current, so versioned workers get no tasks. Run: temporal worker "
            f"deployment set-current-version --deployment-name {name} --build-id {build_id}",
        )
    for why, needed in (("tasks go", routed), ("open tasks are pinned", draining)):
        for version in needed:
            if version not in running:
                return Finding(
                    Level.FAIL, _NAME, f"{why} to {_text(version)}, which no worker runs: {_CURE}"
                )
    return Finding(Level.OK, _NAME, f"tasks go to {', '.join(map(_text, routed))}")


async def _described(client: Client, task_queue: str) -> DescribeTaskQueueResponse:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    return await Gateway(client).call(client.workflow_service.describe_task_queue, request)


def _running(queue: DescribeTaskQueueResponse) -> set[Version]:
    versioned = WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED
    options = [poller.deployment_options for poller in queue.pollers]
    return {
        (each.deployment_name, each.build_id)
        for each in options
        if each.worker_versioning_mode == versioned
    }


def _named(*versions: WorkerDeploymentVersion) -> list[Version]:
    return [(each.deployment_name, each.build_id) for each in versions if each.build_id]


async def _draining(client: Client, deployment: str) -> list[Version]:
    request = DescribeWorkerDeploymentRequest(
        namespace=client.namespace, deployment_name=deployment
    )
    ask = client.workflow_service.describe_worker_deployment
    try:
        found = await Gateway(client).call(ask, request)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return []  # its first worker polls already, but Temporal has not registered it yet
    return _named(
        *(
            each.deployment_version
            for each in found.worker_deployment_info.version_summaries
            if each.drainage_status == VersionDrainageStatus.VERSION_DRAINAGE_STATUS_DRAINING
        )
    )


def _text(version: Version) -> str:
    return f"build {version[1]!r} of deployment {version[0]!r}"
