"""Workers may be versions of a deployment: tasks run on the current one, and doctor looks at it."""

import sys
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner
from temporalio.api.workflowservice.v1 import SetWorkerDeploymentCurrentVersionRequest
from temporalio.client import Client
from temporalio.common import WorkerDeploymentVersion
from temporalio.service import RPCError
from temporalio.worker import WorkerDeploymentConfig

from a2a_temporal import Agent, start_task
from a2a_temporal._cli import main
from a2a_temporal._cli.checks import versions
from tests.support.in_process import CARD, Scripted
from tests.support.processes import Process
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

AGENT = Agent(card=CARD, executor=Scripted())
agent = AGENT  # as the command line names it


async def test_tasks_run_on_the_current_version_and_doctor_sees_it(
    temporal: TemporalServer, tmp_path: Path
) -> None:
    client = await temporal.client()
    queue = name = f"versions-{uuid.uuid4()}"
    arguments = ["worker", f"{__name__}:agent", f"--deployment={name}", "--build-id=1"]
    worker = Process(
        "worker",
        [sys.executable, "-m", "a2a_temporal", *arguments],
        env={"TEMPORAL_ADDRESS": temporal.address, "TASK_QUEUE": queue},
        log=tmp_path / "worker.log",
    )

    async def found(text: str) -> None:
        async def look() -> bool:
            return text in (await versions(client, queue)).text

        await eventually(look, within=30, what=text)

    worker.start()
    try:
        await found(f"set-current-version --deployment-name {name} --build-id 1")
        await _make_current(client, name, "1")
        task = await start_task(client, AGENT, "say:hello", task_queue=queue)
        await client.get_workflow_handle(task.id).result()
        await found("tasks go to build '1'")
    finally:
        await worker.put_away()


async def _make_current(client: Client, name: str, build_id: str) -> None:
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace,
        deployment_name=name,
        build_id=build_id,
    )

    async def made() -> bool:
        try:
            await client.workflow_service.set_worker_deployment_current_version(request)
        except RPCError:
            return False
        return True

    await eventually(made, within=30, what=f"build {build_id} to be current")


@pytest.mark.parametrize("given", [["--deployment=d"], ["--build-id=1"]])
def test_a_version_has_both_a_deployment_and_a_build(given: list[str]) -> None:
    result = CliRunner().invoke(main, ["worker", "workflows.expense:agent", *given])
    assert result.exit_code == 2
    assert "--deployment and --build-id" in result.output


async def test_a_versioned_worker_of_ones_own_need_not_name_the_librarys_behaviour(
    temporal: TemporalServer,
) -> None:
    version = WorkerDeploymentVersion(deployment_name="own", build_id="1")
    AGENT.worker(
        await temporal.client(),
        task_queue="own",
        deployment_config=WorkerDeploymentConfig(version=version, use_worker_versioning=True),
    )
