"""A message to a finished task is refused as unsupported, and the task stays as it is."""

from tests.conftest import NewCluster
from tests.support.calls import BINDINGS, Caller, refused, refused_to_open
from tests.support.cluster import Cluster
from tests.support.results import Json
from tests.support.waiting import eventually


async def _refuses_messages(cluster: Cluster, caller: Caller, task: Json) -> None:
    before_it = await cluster.requests(task["id"])
    for options in ({}, {"context_id": task["contextId"]}):
        follow_up = caller.send("echo more", task_id=task["id"], **options)
        await refused(follow_up, code=-32004, status=400)
        stream = caller.stream("echo more", task_id=task["id"], **options)
        await refused_to_open(stream, code=-32004, status=400)
    assert await caller.get(task["id"]) == task
    assert await cluster.requests(task["id"]) == before_it
    assert await eventually(lambda: cluster.runs(task["id"]), within=30) == 1


async def test_a_finished_task_takes_no_message_with_or_without_a_worker(
    new_cluster: NewCluster,
) -> None:
    async with new_cluster() as cluster:
        caller = cluster.caller
        started = [
            await caller.send_task("echo done"),
            await caller.send_task("fail-public out of stock"),
            await caller.send_task("reject"),
            await caller.send_task("ask colour?"),
        ]
        await caller.cancel(started[-1]["id"])
        tasks = [await caller.get(task["id"]) for task in started]

        for binding in BINDINGS:
            for task in tasks:
                await _refuses_messages(cluster, caller.over(binding), task)

        cluster.workers[0].kill()
        for binding in BINDINGS:
            for task in tasks:
                await _refuses_messages(cluster, caller.over(binding), task)
