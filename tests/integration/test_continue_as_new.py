"""A task that outgrows its history goes on in a new run, and nobody notices."""

from tests.conftest import NewCluster
from tests.support.calls import Caller, over_every_binding, refused
from tests.support.cluster import QUICK_RETRY, Options
from tests.support.frames import rebuilt_artifacts, terminal_frames
from tests.support.results import state, text_of, user_texts
from tests.support.waiting import eventually

SHORT_RUNS = Options(worker=("--continue-as-new-after=20", *QUICK_RETRY))


async def test_turns_streams_and_answers_cross_runs(new_cluster: NewCluster) -> None:
    async with new_cluster(apis=2, workers=2, options=SHORT_RUNS) as cluster:

        async def scenario(caller: Caller) -> None:
            task = await caller.send_task("ask ready?")
            task_id, context_id = task["id"], task["contextId"]
            here, there = cluster.callers(binding=caller.binding)
            async with there.subscribe(task_id) as frames:
                assert "task" in await frames.next()
                for turn in range(12):
                    answer = await here.send_task(f"echo {turn}; ask next?", task_id=task_id)
                    assert state(answer) == "INPUT_REQUIRED"
                first = f"first-{task_id}"
                once = {"task_id": task_id, "message_id": first}
                await here.send_task("effect pay; ask paid?", **once)
                await here.send_task("effect pay; ask paid?", **once)
                done = await here.send_task("echo done", task_id=task_id)
                received = await frames.to_the_end(within=30)

            assert state(done) == "COMPLETED"
            assert done["contextId"] == context_id
            assert len(user_texts(done)) == 15
            echoed = [text_of(a) for a in done["artifacts"] if a["name"] == "echo"]
            assert echoed == [*(str(turn) for turn in range(12)), "done"]
            assert cluster.ledger.count(task_id, "effect") == 1
            assert len(terminal_frames(received)) == 1
            held = {a["artifactId"]: text_of(a) for a in done["artifacts"]}
            assert rebuilt_artifacts(received) == held
            assert await there.get(task_id) == done
            assert await eventually(lambda: cluster.runs(task_id), within=30) > 2
            await refused(there.send("echo more", task_id=task_id), code=-32004)

        await over_every_binding(cluster.caller, scenario)


async def test_a_task_of_several_runs_can_be_canceled(new_cluster: NewCluster) -> None:
    async with new_cluster(options=SHORT_RUNS) as cluster:
        caller = cluster.caller
        task = await caller.send_task("ask ready?")
        for turn in range(6):
            await caller.send_task(f"echo {turn}; ask next?", task_id=task["id"])
        await caller.start("sleep 60", task_id=task["id"])
        await eventually(lambda: cluster.ledger.lines(task["id"], "tick"), within=30)

        assert state(await caller.cancel(task["id"])) == "CANCELED"

        canceled = await caller.get(task["id"])
        assert state(canceled) == "CANCELED"
        assert len(user_texts(canceled)) == 8
        assert cluster.ledger.count(task["id"], "cancel") == 1
