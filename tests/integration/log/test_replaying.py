"""The replay that ends every test of the kit comes to an end itself."""

import uuid
from datetime import timedelta

import pytest
from temporalio import workflow
from temporalio.client import WorkflowHandle
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, Worker

from a2a_temporal._testing.replaying import replay_all
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within


@workflow.defn
class Fickle:
    """Decides by something that a replay does not see."""

    naps = 1

    @workflow.run
    async def run(self) -> None:
        for _ in range(self.naps):
            await workflow.sleep(0.01)


async def test_a_workflow_that_no_worker_has_met_is_left_out(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await temporal.client()
    queue = f"replayed-{uuid.uuid4().hex[:8]}"
    replayer = Replayer(workflows=[Fickle], workflow_runner=UnsandboxedWorkflowRunner())
    delayed: WorkflowHandle[Fickle, None] = await client.start_workflow(
        Fickle.run, id=uuid.uuid4().hex, task_queue=queue, start_delay=timedelta(minutes=5)
    )
    async with Worker(
        client,
        task_queue=queue,
        workflows=[Fickle],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        met = await client.start_workflow(Fickle.run, id=uuid.uuid4().hex, task_queue=queue)
        await met.result()

    async def both_listed() -> bool:
        return (await client.count_workflows(f"TaskQueue = '{queue}'")).count == 2

    await eventually(both_listed, within=30)
    assert await within(30, replay_all(replayer, client, queue)) == {}

    monkeypatch.setattr(Fickle, "naps", 2)
    failures = await within(30, replay_all(replayer, client, queue))
    assert list(failures) == [met.result_run_id]
    await delayed.terminate()
