"""A client that goes away takes nothing with it: a disconnect is not a cancel."""

import asyncio
import uuid

import pytest

from tests.support.calls import Caller, over_every_binding
from tests.support.cluster import Cluster
from tests.support.results import artifact_text, state
from tests.support.waiting import eventually

TWENTY = "".join(f"{step}\n" for step in range(1, 21))


async def test_a_dropped_stream_does_not_stop_the_work(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        async with caller.stream("count 20 0.2") as frames:
            first = await frames.next()
            task_id = first["task"]["id"]
            await eventually(lambda: cluster.ledger.count(task_id, "step") >= 3, within=15)
        assert cluster.ledger.count(task_id, "step") < 20

        await eventually(lambda: cluster.ledger.count(task_id, "step") == 20, within=20)

        async def completed() -> bool:
            return state(await caller.get(task_id)) == "COMPLETED"

        await eventually(completed, within=15)
        assert cluster.ledger.count(task_id, "interrupted", "cancel") == 0
        assert "WORKFLOW_EXECUTION_CANCEL_REQUESTED" not in await cluster.history(task_id)

    await over_every_binding(cluster.caller, scenario)


async def test_a_blocking_send_that_times_out_does_not_stop_the_work(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        message_id = str(uuid.uuid4())
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(caller.send("count 20 0.2", message_id=message_id), 1.5)

        # The client never learned the task id; the same message leads back to the same task.
        done = await caller.send_task("count 20 0.2", message_id=message_id)

        assert state(done) == "COMPLETED"
        assert artifact_text(done, "count") == TWENTY
        assert cluster.ledger.count(done["id"], "step") == 20
        assert "WORKFLOW_EXECUTION_CANCEL_REQUESTED" not in await cluster.history(done["id"])

    await over_every_binding(cluster.caller, scenario)
