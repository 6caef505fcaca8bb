"""What an agent's `cancel()` does or fails to do decides nothing: the log does."""

import asyncio

from tests.support.calls import Caller, CallError, all_of, over_every_binding, refused
from tests.support.cluster import Cluster
from tests.support.results import state
from tests.support.waiting import eventually, within

SECRET = "hunter2-SECRET"


async def test_a_cancel_hook_that_raises_or_says_nothing_still_ends_canceled(
    cluster: Cluster,
) -> None:
    async def scenario(caller: Caller) -> None:
        for command in ("cancel-raises 60", "cancel-silent 60"):
            task = await caller.start(command)
            await eventually(lambda task=task: cluster.ledger.lines(task["id"]), within=30)

            answer = await within(20, caller.cancel(task["id"]), what="CancelTask")

            assert state(answer) == "CANCELED"
            assert SECRET not in str(answer)
            assert cluster.ledger.count(task["id"], "cancel") == 1
            assert cluster.ledger.count(task["id"], "interrupted") == 1

    await over_every_binding(cluster.caller, scenario)


async def test_a_completed_task_is_never_overwritten_by_a_late_cancel(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        for command in ("cancel-raises 0", "cancel-silent 0", "echo done"):
            done = await caller.send_task(command)
            assert state(done) == "COMPLETED"
            await refused(caller.cancel(done["id"]), code=-32002)
            assert state(await caller.get(done["id"])) == "COMPLETED"

    await over_every_binding(cluster.caller, scenario)


async def test_a_cancel_that_races_with_the_end_has_one_outcome(cluster: Cluster) -> None:
    async def race(caller: Caller, delay: float) -> None:
        task = await caller.start("cancel-raises 0.5")
        await eventually(lambda: cluster.ledger.lines(task["id"]), within=20)
        await asyncio.sleep(delay)
        try:
            answered = state(await caller.cancel(task["id"]))
        except CallError as error:
            if error.code != -32002:
                raise
            answered = "COMPLETED"

        async def settled() -> str | None:
            found = state(await caller.get(task["id"]))
            return found if found in ("COMPLETED", "CANCELED") else None

        assert await eventually(settled, within=15) == answered

    callers = cluster.callers() * 6
    await all_of(*(race(caller, 0.1 * n) for n, caller in enumerate(callers)))
