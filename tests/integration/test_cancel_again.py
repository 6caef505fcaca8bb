"""CancelTask on what is over is refused, always the same way, and changes nothing."""

import uuid

from tests.support.calls import Caller, CallError, all_of, over_every_binding, refused
from tests.support.cluster import Cluster
from tests.support.results import Json, state
from tests.support.waiting import eventually


async def _one_in_each_terminal_state(caller: Caller) -> list[Json]:
    tasks = [
        await caller.send_task("echo done"),
        await caller.send_task("fail-public out of stock"),
        await caller.send_task("reject"),
        await caller.send_task("ask colour?"),
    ]
    await caller.cancel(tasks[-1]["id"])
    found = [await caller.get(task["id"]) for task in tasks]
    assert [state(task) for task in found] == ["COMPLETED", "FAILED", "REJECTED", "CANCELED"]
    return found


async def test_a_finished_task_is_not_cancelable(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        for task in await _one_in_each_terminal_state(caller):
            before_it = await cluster.requests(task["id"])
            for _ in range(2):
                await refused(caller.cancel(task["id"]), code=-32002, status=400)
            assert await caller.get(task["id"]) == task
            assert await cluster.requests(task["id"]) == before_it

    await over_every_binding(cluster.caller, scenario)


async def test_an_unknown_task_is_not_found(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        for unknown in (str(uuid.uuid4()), "no-uuid"):
            await refused(caller.cancel(unknown), code=-32001, status=404)

    await over_every_binding(cluster.caller, scenario)


async def test_ten_cancels_at_once_make_one(cluster: Cluster) -> None:
    async def cancel(caller: Caller, task_id: str) -> str:
        try:
            return state(await caller.cancel(task_id))
        except CallError as error:
            return str(error.code)

    async def scenario(caller: Caller) -> None:
        task = await caller.start("sleep 60")
        await eventually(lambda: cluster.ledger.lines(task["id"]), within=30)
        callers = cluster.callers(binding=caller.binding) * 5

        outcomes = await all_of(*(cancel(caller, task["id"]) for caller in callers))

        assert set(outcomes) <= {"CANCELED", "-32002"}
        assert "CANCELED" in outcomes
        history = await cluster.history(task["id"])
        assert history.count("WORKFLOW_EXECUTION_CANCEL_REQUESTED") == 1
        assert cluster.ledger.count(task["id"], "cancel") == 1

    await over_every_binding(cluster.caller, scenario)
