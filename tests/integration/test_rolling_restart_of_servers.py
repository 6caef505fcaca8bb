"""SIGTERM of a server process is no event in the life of any task."""

import asyncio
from contextlib import AsyncExitStack

from tests.conftest import NewCluster
from tests.support.calls import BINDINGS, all_of
from tests.support.frames import terminal_frames
from tests.support.results import artifact_text, state
from tests.support.waiting import eventually


async def test_a_server_that_is_told_to_stop_changes_no_task(new_cluster: NewCluster) -> None:
    async with new_cluster(apis=1, workers=1) as cluster:
        before = cluster.caller
        working = await all_of(*(before.start("sleep 14") for _ in range(8)))
        parked = await all_of(*(before.send_task(f"ask colour {n}?") for n in range(3)))
        async with AsyncExitStack() as streams:
            open_streams = [
                await streams.enter_async_context(
                    before.over(BINDINGS[n % 2]).subscribe(working[n]["id"])
                )
                for n in range(5)
            ]
            await all_of(*(frames.next() for frames in open_streams))

            cluster.apis[0].process.terminate()

            assert await cluster.apis[0].process.exited(within=10) in (0, -15)
            for frames in open_streams:
                await eventually(lambda frames=frames: frames.closed, within=30)
                assert terminal_frames(frames.received) == []

        api = await cluster.add_api()
        after = cluster.callers()[cluster.apis.index(api)]
        for task in parked:
            assert state(await after.get(task["id"])) == "INPUT_REQUIRED"
            answered = await after.send_task("blue", task_id=task["id"])
            assert state(answered) == "COMPLETED"
            assert artifact_text(answered, "answer") == "blue"

        async def all_completed() -> bool:
            found = await asyncio.gather(*(after.get(task["id"]) for task in working))
            assert {state(task) for task in found} <= {"WORKING", "COMPLETED"}
            return all(state(task) == "COMPLETED" for task in found)

        await eventually(all_completed, within=30, every=0.5)
        assert all(cluster.ledger.count(task["id"], "start") == 1 for task in working)
