"""A worker that is told to stop hands its turns over: that is no cancel."""

from tests.conftest import NewCluster
from tests.support.calls import Caller, all_of, over_every_binding
from tests.support.cluster import Options
from tests.support.frames import rebuilt_artifacts, state_in
from tests.support.results import artifact_text, state
from tests.support.waiting import eventually

STEPS = "".join(f"{step}\n" for step in range(1, 13))


async def test_a_turn_goes_on_at_the_other_worker(new_cluster: NewCluster) -> None:
    async with new_cluster() as cluster:
        (worker,) = cluster.workers

        async def scenario(caller: Caller) -> None:
            async with caller.stream("count 12 0.3") as frames:
                task_id = (await frames.next())["task"]["id"]
                received = await frames.to_the_end(within=40)
            states = [state_in(frame) for frame in received if state_in(frame)]
            assert "CANCELED" not in states
            assert states[-1] == "COMPLETED"
            task = await caller.get(task_id)
            assert artifact_text(task, "count") == STEPS
            assert list(rebuilt_artifacts(received).values()) == [STEPS]
            # The worker that stops may be handed the turn once more before it has stopped asking.
            assert {line.attempt for line in cluster.ledger.lines(task_id, "step")} >= {1, 2}
            assert cluster.ledger.count(task_id, "cancel") == 0

        async def stop_the_worker() -> None:
            def both_are_at_work() -> bool:
                return len({line.task for line in cluster.ledger.lines(None, "step")}) == 2

            await eventually(both_are_at_work, within=20)
            worker.terminate()
            await cluster.add_worker()
            assert await worker.exited(within=10) == 0

        await all_of(over_every_binding(cluster.caller, scenario), stop_the_worker())


async def test_a_rolling_restart_of_workers_completes_every_task(
    new_cluster: NewCluster,
) -> None:
    async with new_cluster(workers=2) as cluster:
        tasks = await all_of(*(cluster.caller.start("sleep 4") for _ in range(16)))
        ids = {task["id"] for task in tasks}

        def all_begun() -> bool:
            return ids <= {line.task for line in cluster.ledger.lines(None, "start")}

        await eventually(all_begun, within=40)
        for worker in cluster.workers:
            worker.terminate()
            assert await worker.exited(within=10) == 0
            await cluster.restart(worker)

        async def all_completed() -> bool:
            found = await all_of(*(cluster.caller.get(task_id) for task_id in ids))
            assert {state(task) for task in found} <= {"WORKING", "COMPLETED"}
            return all(state(task) == "COMPLETED" for task in found)

        await eventually(all_completed, within=60, every=0.5)
        assert cluster.ledger.lines(None, "cancel") == []


async def test_a_shutdown_is_no_failed_attempt(new_cluster: NewCluster) -> None:
    """However few attempts a turn may have: that limits crashes and failures, not deploys."""
    async with new_cluster(workers=2, options=Options(worker=("--maximum-attempts=1",))) as cluster:
        task = await cluster.caller.start("count 40 0.25")
        for _ in range(2):
            seen = cluster.ledger.count(task["id"], "step")
            await eventually(
                lambda seen=seen: cluster.ledger.count(task["id"], "step") >= seen + 3, within=20
            )
            worker = cluster.worker_of(task["id"])
            worker.terminate()
            assert await worker.exited(within=10) == 0
            await cluster.restart(worker)

        async def ended() -> str | None:
            found = state(await cluster.caller.get(task["id"]))
            return found if found != "WORKING" else None

        assert await eventually(ended, within=45) == "COMPLETED"
        assert artifact_text(await cluster.caller.get(task["id"]), "count") == "".join(
            f"{step}\n" for step in range(1, 41)
        )
        lines = cluster.ledger.lines(task["id"], "step")
        assert sorted({line.attempt for line in lines}) == [1, 2, 3]
        assert cluster.ledger.count(task["id"], "cancel") == 0
