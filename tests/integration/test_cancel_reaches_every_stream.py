"""Whichever server takes the cancel, every stream of the task ends the same way."""

from contextlib import AsyncExitStack

from tests.support.calls import BINDINGS, Caller, all_of
from tests.support.cluster import Cluster
from tests.support.frames import state_in, terminal_frames
from tests.support.results import state
from tests.support.waiting import eventually

REPETITIONS = 3


async def _six_streams_end_alike(cluster: Cluster, canceler: Caller) -> None:
    first, second = cluster.callers()
    task = await first.start("sleep 60")
    task_id = task["id"]
    await eventually(lambda: cluster.ledger.lines(task_id), within=20)
    async with AsyncExitStack() as streams:
        subscribers = [
            await streams.enter_async_context(caller.over(BINDINGS[n % 2]).subscribe(task_id))
            for caller in (first, second)
            for n in range(3)
        ]
        for frames in subscribers:
            assert "task" in await frames.next()

        answer = await canceler.cancel(task_id)

        assert state(answer) == "CANCELED"
        received = await all_of(*(frames.to_the_end(within=30) for frames in subscribers))
    for frames in received:
        assert frames[1:] == received[0][1:]
        assert len(terminal_frames(frames)) == 1
        assert state_in(frames[-1]) == "CANCELED"
        assert "statusUpdate" in frames[-1]


async def test_six_subscribers_on_two_servers_see_the_same_end(cluster: Cluster) -> None:
    cancelers = [caller for caller in cluster.callers() for _ in range(REPETITIONS)]
    await all_of(*(_six_streams_end_alike(cluster, canceler) for canceler in cancelers))
