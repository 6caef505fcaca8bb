"""The wrapper heartbeats, not the agent: a cancel reaches code that knows nothing of Temporal."""

import time

from tests.conftest import NewCluster
from tests.support.calls import Caller, over_every_binding
from tests.support.cluster import Cluster, Options
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


async def test_a_slot_stays_taken_for_as_long_as_the_thread_runs(new_cluster: NewCluster) -> None:
    one_slot = Options(worker=("--max-concurrent-activities=1",))
    async with new_cluster(options=one_slot) as cluster:
        task = await cluster.caller.start("sleep-thread 8")
        await eventually(lambda: cluster.ledger.count(task["id"], "tick") > 4, within=15)

        answer = await within(20, cluster.caller.cancel(task["id"]), what="CancelTask")
        assert state(answer) == "CANCELED"
        assert cluster.ledger.count(task["id"], "stop") == 0, "the thread had ended before"

        next_task = await cluster.caller.send_task("effect next")
        assert state(next_task) == "COMPLETED"
        (stopped,) = cluster.ledger.lines(task["id"], "stop")
        (began,) = cluster.ledger.lines(next_task["id"], "effect")
        assert began.time >= stopped.time
        assert state(await cluster.caller.get(task["id"])) == "CANCELED"
