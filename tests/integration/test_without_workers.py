"""Reading a task needs no worker, and neither does taking an order."""

import asyncio

from tests.conftest import NewCluster
from tests.support.calls import BINDINGS, Caller, refused_to_open
from tests.support.cluster import Cluster
from tests.support.results import Json, is_terminal, state, user_texts
from tests.support.waiting import eventually, within

COMMANDS = {
    "COMPLETED": "echo done",
    "FAILED": "fail-public out of stock",
    "REJECTED": "reject",
    "INPUT_REQUIRED": "echo before; ask colour?",
    "AUTH_REQUIRED": "auth-message",
    "CANCELED": "ask colour?",
}


async def _one_in_each_state(cluster: Cluster) -> dict[str, Json]:
    caller = cluster.caller
    tasks = {name: await caller.send_task(command) for name, command in COMMANDS.items()}
    await caller.cancel(tasks["CANCELED"]["id"])
    tasks["WORKING"] = await caller.start("status 2; sleep 60")
    await eventually(lambda: cluster.ledger.lines(tasks["WORKING"]["id"]), within=15)
    found = {name: await caller.get(task["id"]) for name, task in tasks.items()}
    assert {name: state(task) for name, task in found.items()} == {name: name for name in found}
    return found


async def _reads_as_before(caller: Caller, task: Json) -> None:
    assert await within(10, caller.get(task["id"]), what="GetTask") == task
    if is_terminal(state(task)):
        await refused_to_open(caller.subscribe(task["id"]), code=-32004, status=400)
        return
    async with caller.subscribe(task["id"]) as frames:
        assert (await frames.next(within=15))["task"] == task


async def test_every_task_reads_as_before_and_new_ones_are_taken(
    new_cluster: NewCluster,
) -> None:
    async with new_cluster(apis=2) as cluster:
        tasks = await _one_in_each_state(cluster)

        cluster.workers[0].kill()

        for binding in BINDINGS:
            for caller in cluster.callers(binding=binding):
                await asyncio.gather(*(_reads_as_before(caller, task) for task in tasks.values()))
        caller = cluster.caller
        new = await within(10, caller.start("echo at last"), what="SendMessage")
        assert state(new) == "SUBMITTED"
        parked = tasks["INPUT_REQUIRED"]["id"]
        await within(10, caller.start("blue", task_id=parked), what="the answer")
        assert user_texts(await caller.get(parked))[-1] == "blue"

        await cluster.add_worker()

        async def completed(task_id: str) -> bool:
            return state(await caller.get(task_id)) == "COMPLETED"

        await eventually(lambda: completed(new["id"]), within=15)
        await eventually(lambda: completed(parked), within=15)
