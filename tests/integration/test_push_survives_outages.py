"""P3: a receiver that is down or hangs holds up nobody, and gets all it missed when it is back."""

import time

from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError

from a2a_temporal._log import wire
from tests.conftest import NewCluster
from tests.support.calls import all_of
from tests.support.cluster import Cluster
from tests.support.hook import NEVER, Answer, Received, hook
from tests.support.push import inline, pushing, set_config
from tests.support.results import state
from tests.support.waiting import eventually


async def given_up(cluster: Cluster, task_id: str, number: int = 1) -> str:
    """Wait until the delivery workflow has closed as failed, and return why it gave up."""
    workflow = cluster.workflow(wire.push_workflow_id(task_id, number))

    async def look() -> str | None:
        described = await workflow.describe()
        if described.status != WorkflowExecutionStatus.FAILED:
            return None
        (dead,) = await described.memo_value(wire.PUSH_MEMO)
        return str(dead["given_up"])

    return await eventually(look, within=60, what="the end of the delivery workflow")


async def test_dead_and_hanging_receivers(new_cluster: NewCluster) -> None:
    options = pushing("--push-timeout=1", "--push-attempts=12", "--push-maximum-interval=1")
    async with (
        new_cluster(options=options) as cluster,
        hook(up=False) as dead,
        hook() as hanging,
        hook() as well,
    ):
        hanging.script = lambda _: NEVER
        message_id = "outage"
        started = await cluster.caller.start(
            "sleep 3", message_id=message_id, configuration=inline(dead.config())
        )
        task_id = started["id"]
        await set_config(cluster.caller, task_id, hanging.config(id="hanging"))
        await set_config(cluster.caller, task_id, well.config(id="well"))
        began = time.monotonic()
        task = await cluster.caller.send_task("sleep 3", message_id=message_id)
        assert time.monotonic() - began < 6
        assert state(task) == "COMPLETED"
        await well.told("COMPLETED", within=5)

        for process in [cluster.apis[0].process, *cluster.workers]:
            process.kill()
            await process.exited(within=10)
        await dead.up()
        await cluster.add_api(*options.api)
        await cluster.add_worker(*options.worker)
        await dead.told("COMPLETED", within=40)
        assert dead.states() == ["SUBMITTED", "WORKING", "COMPLETED"]
        assert not hanging.taken
        assert await given_up(cluster, task_id) == "127.0.0.1 did not answer within 1 s"
        asked = len(hanging.seen)
        assert 12 <= asked <= 15
        described = await cluster.workflow(task_id).describe()
        assert described.status == WorkflowExecutionStatus.COMPLETED


async def test_a_delivery_whose_worker_is_killed_goes_on_from_its_last_heartbeat(
    new_cluster: NewCluster,
) -> None:
    options = pushing()
    async with new_cluster(options=options) as cluster, hook() as receiver:
        receiver.script = lambda _: Answer(delay=0.3)
        await cluster.caller.send_task("status 30", configuration=inline(receiver.config()))
        await receiver.asked(15)
        cluster.workers[0].kill()
        await cluster.workers[0].exited(within=10)
        known = {each.headers["webhook-id"] for each in receiver.taken}
        await cluster.add_worker(*options.worker)
        await receiver.told("COMPLETED", within=30)
        ids = [each.headers["webhook-id"] for each in receiver.taken]
        assert len(set(ids)) == 33
        repeated = len(ids) - len(set(ids))
        assert repeated < len(known) - 1, "it began anew"


async def test_order_holds_through_failures(pusher: Cluster) -> None:
    failures = iter([Answer(status=503), Answer(status=500), Answer(status=302)] * 20)

    def every_other(_: Received) -> Answer:
        nonlocal fail
        fail = not fail
        return next(failures) if fail else Answer()

    fail = False
    async with hook() as receiver:
        receiver.script = every_other
        await pusher.caller.send("status 5", configuration=inline(receiver.config()))
        await receiver.told("COMPLETED")
        ids = [each.headers["webhook-id"] for each in receiver.taken]
        assert len(set(ids)) == len(ids)
        positions = [int(each.split(".")[1]) for each in ids]
        assert positions == sorted(positions)
        assert receiver.states() == ["SUBMITTED", *["WORKING"] * 6, "COMPLETED"]


async def test_every_run_of_a_task_is_told_once_and_in_order(new_cluster: NewCluster) -> None:
    options = pushing("--continue-as-new-after=10", "--push-maximum-interval=0.5")
    async with new_cluster(options=options) as cluster, hook() as receiver, hook(up=False) as late:
        task = await cluster.caller.send_task(
            "ask one; ask two; ask three", configuration=inline(receiver.config())
        )
        await set_config(cluster.caller, task["id"], late.config(id="late"))
        for answer in ("1", "2"):
            task = await cluster.caller.send_task(answer, task_id=task["id"])
            assert state(task) == "INPUT_REQUIRED"
        await late.up()
        await cluster.caller.send_task("3", task_id=task["id"])
        await receiver.told("COMPLETED")
        await late.told("COMPLETED")
        turns = ["WORKING", "INPUT_REQUIRED", "WORKING"] * 3  # an answer sets it to work
        assert receiver.states() == ["SUBMITTED", *turns, "WORKING", "COMPLETED"]
        assert late.states() == [*turns[2:], "WORKING", "COMPLETED"]
        assert await number_of_children(cluster, task["id"]) >= 2


async def test_a_task_that_is_canceled_terminated_or_times_out_tells_so(pusher: Cluster) -> None:
    async with hook() as canceled, hook() as terminated:
        one, other = await all_of(
            pusher.caller.start("sleep 60", configuration=inline(canceled.config())),
            pusher.caller.start("sleep 60", configuration=inline(terminated.config())),
        )
        await all_of(canceled.told("WORKING"), terminated.told("WORKING"))
        await pusher.caller.cancel(one["id"])
        await pusher.workflow(other["id"]).terminate()
        await all_of(canceled.told("CANCELED"), terminated.told("FAILED"))
        assert canceled.states().count("CANCELED") == 1
        assert terminated.states()[-1] == "FAILED"


async def test_a_lost_delivery_workflow_is_replaced_while_the_task_goes_on(pusher: Cluster) -> None:
    async with hook() as receiver:
        task = await pusher.caller.send_task(
            "ask it; pause 1", configuration=inline(receiver.config())
        )
        await receiver.told("INPUT_REQUIRED")
        child = pusher.workflow(wire.push_workflow_id(task["id"], 1))
        await child.terminate("by the operator")
        await pusher.caller.send_task("answer", task_id=task["id"])
        await receiver.told("COMPLETED")
        assert receiver.states().count("COMPLETED") == 1


async def number_of_children(cluster: Cluster, task_id: str) -> int:
    number = 0
    while True:
        try:
            await cluster.workflow(wire.push_workflow_id(task_id, number + 1)).describe()
        except RPCError:
            return number
        number += 1
