"""Worker versioning as ``doctor`` looks at it: does each version that is to work have a worker?"""

from collections.abc import Collection, Sequence

from temporalio.api.deployment.v1 import WorkerDeploymentVersion
from temporalio.api.enums.v1 import TaskQueueType, VersionDrainageStatus, WorkerVersioningMode
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    DescribeTaskQueueResponse,
    DescribeWorkerDeploymentRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._cli.findings import Finding, Level
from a2a_temporal._gateway import Gateway

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
