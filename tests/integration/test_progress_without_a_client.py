"""A task goes on by itself: no open request, no poll, moves it."""

import asyncio
import time

from temporalio.client import WorkflowExecutionStatus

from tests.support.calls import Caller, over_every_binding
from tests.support.cluster import Cluster
from tests.support.results import artifact_text, state, timestamp
from tests.support.waiting import eventually


async def test_a_task_completes_while_no_request_is_open(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.start("sleep 2")
        assert state(task) in ("SUBMITTED", "WORKING")

        async def closed() -> bool:
            status = await cluster.workflow_status(task["id"])
            return status == WorkflowExecutionStatus.COMPLETED

        await eventually(closed, within=30)
        (stop,) = cluster.ledger.lines(task["id"], "stop")
        # The poll comes visibly later than the end, so that its time cannot pass for it.
        await asyncio.sleep(1.5)
        polled = time.time()
        done = await caller.get(task["id"])

        assert state(done) == "COMPLETED"
        assert artifact_text(done, "sleep") == "slept 2"
        assert stop.time - 0.1 <= timestamp(done) < polled - 1

    await over_every_binding(cluster.caller, scenario)
