"""A complete stream ends with exactly one terminal frame, and what is cut off has none."""

from tests.conftest import NewCluster
from tests.support.calls import Caller, all_of, over_every_binding
from tests.support.cluster import Cluster, Options
from tests.support.frames import Frame, Frames, state_in, terminal_frames
from tests.support.results import Json, state
from tests.support.waiting import eventually


async def _ends_as_the_task_does(caller: Caller, frames: Frames, *, within: float) -> Json:
    received: list[Frame] = await frames.to_the_end(within=within)
    (last,) = terminal_frames(received)
    assert last == received[-1]
    assert "statusUpdate" in last
    task_id = last["statusUpdate"]["taskId"]
    task = await caller.get(task_id)
    assert task["status"] == last["statusUpdate"]["status"]
    return task


async def test_every_stream_ends_with_the_state_the_task_has(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        for command, end in (
            ("boom", "FAILED"),
            ("fail-public out of stock", "FAILED"),
            ("echo done", "COMPLETED"),
            ("reject", "REJECTED"),
            ("silent", "COMPLETED"),
            ("after-end", "COMPLETED"),
        ):
            async with caller.stream(command) as frames:
                assert "task" in await frames.next()
                task = await _ends_as_the_task_does(caller, frames, within=30)
            assert state(task) == end, command

    await over_every_binding(cluster.caller, scenario)


async def test_a_question_ends_the_stream_of_its_turn(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        async with caller.stream("ask colour?") as frames:
            received = await frames.to_the_end(within=30)
            task_id = received[0]["task"]["id"]
        assert terminal_frames(received) == []
        assert state_in(received[-1]) == "INPUT_REQUIRED"

        async with caller.stream("blue", task_id=task_id) as frames:
            assert "task" in await frames.next()
            await _ends_as_the_task_does(caller, frames, within=30)

    await over_every_binding(cluster.caller, scenario)


async def test_a_lost_worker_that_may_not_be_replaced_ends_the_stream_failed(
    new_cluster: NewCluster,
) -> None:
    at_most_once = Options(
        worker=("--maximum-attempts=1", "--heartbeat-timeout=3", "--heartbeat-interval=0.5")
    )
    async with new_cluster(options=at_most_once) as cluster:
        (worker,) = cluster.workers

        async def scenario(caller: Caller) -> None:
            async with caller.stream("sleep 60") as frames:
                task_id = (await frames.next())["task"]["id"]
                await eventually(lambda: cluster.ledger.count(task_id, "tick"), within=30)
                await eventually(lambda: not worker.running, within=30)
                task = await _ends_as_the_task_does(caller, frames, within=30)
            assert state(task) == "FAILED"

        async def lose_the_worker() -> None:
            def both_work() -> bool:
                return len({line.task for line in cluster.ledger.lines(None, "tick")}) == 2

            await eventually(both_work, within=30)
            worker.kill()
            await cluster.add_worker()

        await all_of(over_every_binding(cluster.caller, scenario), lose_the_worker())


async def test_a_turn_that_takes_too_long_ends_failed(new_cluster: NewCluster) -> None:
    impatient = Options(worker=("--turn-timeout=2", "--maximum-attempts=1"))
    async with new_cluster(options=impatient) as cluster:
        async with cluster.caller.stream("sleep 60") as frames:
            task = await _ends_as_the_task_does(cluster.caller, frames, within=30)
        assert state(task) == "FAILED"
