"""CancelTask ends a task whatever it does: working, waiting for an answer or for a credential."""

from temporalio.client import WorkflowExecutionStatus

from tests.support.calls import Caller, all_of, over_every_binding, refused, refused_to_open
from tests.support.cluster import Cluster
from tests.support.results import Json, state
from tests.support.waiting import eventually, within


async def _canceled(caller: Caller, task: Json) -> Json:
    answer = await within(20, caller.cancel(task["id"]), what="CancelTask")
    assert answer["id"] == task["id"]

    async def look() -> Json | None:
        found = await caller.get(task["id"])
        return found if state(found) == "CANCELED" else None

    if state(answer) != "CANCELED":
        assert state(answer) == state(task)
    return await eventually(look, within=30) or {}


async def test_working_and_parked_tasks_end_canceled(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        sleeping = await caller.start("sleep 60")
        asking = await caller.send_task("ask colour?")
        waiting = await caller.send_task("auth")
        assert state(asking) == "INPUT_REQUIRED"
        assert state(waiting) == "AUTH_REQUIRED"
        await eventually(lambda: cluster.ledger.lines(sleeping["id"]), within=30)

        tasks = await all_of(*(_canceled(caller, task) for task in (sleeping, asking, waiting)))

        for task in tasks:
            assert state(task) == "CANCELED"

            async def closed(task_id: str = task["id"]) -> bool:
                status = await cluster.workflow_status(task_id)
                return status == WorkflowExecutionStatus.CANCELED

            await eventually(closed, within=30)
            follow_up = caller.send("echo late", task_id=task["id"])
            await refused(follow_up, code=-32004, status=400)
            late_stream = caller.stream("echo late", task_id=task["id"])
            await refused_to_open(late_stream, code=-32004, status=400)
            assert cluster.ledger.count(task["id"], "cancel") == 1
        assert cluster.ledger.lines(sleeping["id"])[-1].kind in ("interrupted", "cancel")

    await over_every_binding(cluster.caller, scenario)


async def test_what_was_said_before_a_cancel_stays_readable(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await caller.send_task("echo kept; ask colour?")
        canceled = await _canceled(caller, task)
        assert [part["text"] for part in canceled["artifacts"][0]["parts"]] == ["kept"]
        assert [message["role"] for message in canceled["history"]] == ["ROLE_USER", "ROLE_AGENT"]

    await over_every_binding(cluster.caller, scenario)
