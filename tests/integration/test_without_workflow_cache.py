"""Workers that keep no workflow in memory rebuild each from its history, every time."""

from tests.conftest import NewCluster
from tests.support.calls import Caller, over_every_binding
from tests.support.cluster import QUICK_RETRY, Options
from tests.support.frames import rebuilt_artifacts
from tests.support.results import artifact_text, state, user_texts
from tests.support.waiting import eventually

UNCACHED = Options(worker=("--max-cached-workflows=0", *QUICK_RETRY))


async def test_every_kind_of_turn_works_without_the_cache(new_cluster: NewCluster) -> None:
    async with new_cluster(workers=2, options=UNCACHED) as cluster:

        async def scenario(caller: Caller) -> None:
            asked = await caller.send_task("ask2 0.2")
            again = await caller.send_task("one", task_id=asked["id"])
            assert state(again) == "INPUT_REQUIRED"
            assert state(await caller.send_task("two", task_id=asked["id"])) == "COMPLETED"

            async with caller.stream("chunks 20 50 0.05; flaky 1") as frames:
                received = await frames.to_the_end(within=30)
            task = await caller.get(received[0]["task"]["id"])
            assert list(rebuilt_artifacts(received).values()) == [artifact_text(task, "chunks")]

            queued = await caller.start("sleep 1")
            await caller.start("echo a", task_id=queued["id"])
            done = await caller.send_task("echo b", task_id=queued["id"])
            assert user_texts(done) == ["sleep 1", "echo a", "echo b"]
            assert state(done) == "COMPLETED"

            running = await caller.start("sleep 60")
            await eventually(lambda: cluster.ledger.lines(running["id"]), within=30)
            assert state(await caller.cancel(running["id"])) == "CANCELED"
            assert state(await caller.send_task("boom")) == "FAILED"

        await over_every_binding(cluster.caller, scenario)
