"""Cancel stops the work itself, not a copy of its state; the ledger is the witness."""

import time

from tests.support.calls import Caller, over_every_binding
from tests.support.cluster import Cluster
from tests.support.frames import state_in, terminal_frames
from tests.support.results import state
from tests.support.waiting import eventually, steadily, within


async def test_a_canceled_task_does_nothing_any_more(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        async with caller.stream("count 100 0.1") as frames:
            task_id = (await frames.next())["task"]["id"]
            await eventually(lambda: cluster.ledger.count(task_id, "step") >= 10, within=20)

            answer = await within(20, caller.cancel(task_id), what="CancelTask")
            answered = time.time()
            assert state(answer) == "CANCELED"
            seen = await caller.get(task_id)

            async def still_canceled() -> None:
                assert await caller.get(task_id) == seen

            await steadily(still_canceled, during=8, every=0.2)
            received = await frames.to_the_end(within=30)

        assert len(terminal_frames(received)) == 1
        assert state_in(received[-1]) == "CANCELED"
        lines = cluster.ledger.lines(task_id)
        assert cluster.ledger.count(task_id, "interrupted") == 1
        # Nothing happens after the answer: not even the second of grace is used.
        assert max(line.time for line in lines) <= answered

    await over_every_binding(cluster.caller, scenario)


async def test_canceled_is_not_reported_while_the_code_still_runs(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.start("stubborn 3")
        await eventually(lambda: cluster.ledger.lines(task["id"]), within=30)

        answer = await within(15, caller.cancel(task["id"]), what="CancelTask")
        answered = time.time()

        assert state(answer) == "CANCELED"
        (stop,) = cluster.ledger.lines(task["id"], "stop")
        assert stop.time <= answered

    await over_every_binding(cluster.caller, scenario)
