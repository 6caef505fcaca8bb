"""SubscribeToTask knows a finished task from one that never was, also after a restart of all."""

import uuid

from tests.conftest import NewCluster
from tests.support.calls import BINDINGS, refused_to_open
from tests.support.cluster import Cluster
from tests.support.frames import state_in, terminal_frames
from tests.support.results import state


async def _restart_everything(cluster: Cluster) -> None:
    for process in [*(api.process for api in cluster.apis), *cluster.workers]:
        process.kill()
        process.start()
    for api in cluster.apis:
        await api.ready(cluster.http)


async def test_subscribing_after_a_restart_of_servers_and_workers(
    new_cluster: NewCluster,
) -> None:
    async with new_cluster(apis=2, workers=1) as cluster:
        caller = cluster.caller
        finished = {
            "COMPLETED": await caller.send_task("echo done"),
            "FAILED": await caller.send_task("fail-public out of stock"),
            "REJECTED": await caller.send_task("reject"),
            "CANCELED": await caller.send_task("ask colour?"),
        }
        await caller.cancel(finished["CANCELED"]["id"])
        parked = {binding: await caller.send_task("ask colour?") for binding in BINDINGS}

        await _restart_everything(cluster)

        for binding in BINDINGS:
            here, there = cluster.callers(binding=binding)
            for name, task in finished.items():
                assert state(await here.get(task["id"])) == name
                await refused_to_open(here.subscribe(task["id"]), code=-32004, status=400)
            unknown = here.subscribe(str(uuid.uuid4()))
            await refused_to_open(unknown, code=-32001, status=404)

            task = parked[binding]
            async with here.subscribe(task["id"]) as frames:
                first = await frames.next(within=30)
                assert state(first["task"]) == "INPUT_REQUIRED"
                answered = await there.send_task("blue", task_id=task["id"])
                assert state(answered) == "COMPLETED"
                received = await frames.to_the_end(within=30)
            assert any("artifactUpdate" in frame for frame in received)
            assert len(terminal_frames(received)) == 1
            assert state_in(received[-1]) == "COMPLETED"
