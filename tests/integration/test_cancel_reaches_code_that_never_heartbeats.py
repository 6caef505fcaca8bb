"""The wrapper heartbeats, not the agent: a cancel reaches code that knows nothing of Temporal."""

import time

from tests.support.calls import Caller, over_every_binding
from tests.support.cluster import Cluster
from tests.support.results import state
from tests.support.waiting import eventually, within


async def test_awaiting_code_is_interrupted(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.start("sleep-nohb 60")
        await eventually(lambda: cluster.ledger.count(task["id"], "tick") > 4, within=15)
        asked = time.time()

        answer = await within(20, caller.cancel(task["id"]), what="CancelTask")

        assert state(answer) == "CANCELED"
        (interrupted,) = cluster.ledger.lines(task["id"], "interrupted")
        assert interrupted.time - asked < 15

    await over_every_binding(cluster.caller, scenario)


async def test_a_blocked_thread_keeps_no_task_from_being_canceled(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.start("sleep-thread 12")
        await eventually(lambda: cluster.ledger.count(task["id"], "tick") > 4, within=15)

        async def canceled() -> bool:
            return state(await caller.get(task["id"])) == "CANCELED"

        await within(20, caller.cancel(task["id"]), what="CancelTask")
        await eventually(canceled, within=10)

    await over_every_binding(cluster.caller, scenario)
