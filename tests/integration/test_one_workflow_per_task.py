"""A task id belongs to one workflow for ever, and only a workflow of this agent is a task."""

import asyncio
import uuid

import pytest
from temporalio.exceptions import WorkflowAlreadyStartedError

from tests.support.calls import Caller, CallError, all_of, over_every_binding, refused
from tests.support.cluster import Cluster
from tests.support.results import state, user_texts
from tests.support.waiting import eventually


async def _one_run(cluster: Cluster, task_id: str) -> None:
    assert await eventually(lambda: cluster.runs(task_id), within=30) == 1


async def test_the_same_message_again_leads_to_the_same_task(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        message_id = str(uuid.uuid4())
        here, there = cluster.callers(binding=caller.binding)
        command = "sleep 0.5; effect pay"

        at_once = await all_of(
            *(each.send_task(command, message_id=message_id) for each in (here, there, here))
        )
        later = await there.send_task(command, message_id=message_id)

        (task_id,) = {task["id"] for task in [*at_once, later]}
        assert {state(task) for task in [*at_once, later]} == {"COMPLETED"}
        assert cluster.ledger.count(task_id, "effect") == 1
        await _one_run(cluster, task_id)
        other_content = here.send("effect pay twice", message_id=message_id)
        await refused(other_content, code=-32602, status=400)
        for other in (caller.as_user("bob"), caller.as_user(None, tenant="t2")):
            elsewhere = await other.send_task(command, message_id=message_id)
            assert elsewhere["id"] != task_id

    await over_every_binding(cluster.caller, scenario)


async def test_a_message_in_the_moment_of_the_end_is_handled_or_refused(
    cluster: Cluster,
) -> None:
    async def race(caller: Caller, delay: float) -> bool:
        task = await caller.start("sleep 0.3")
        await eventually(lambda: cluster.ledger.lines(task["id"]), within=20)
        await asyncio.sleep(delay)
        try:
            answer = await caller.send_task("effect late", task_id=task["id"])
        except CallError as error:
            if error.code != -32004:
                raise
            accepted = False
        else:
            assert state(answer) == "COMPLETED"
            accepted = True
        done = await caller.get(task["id"])
        assert state(done) == "COMPLETED"
        assert ("effect late" in user_texts(done)) == accepted
        assert cluster.ledger.count(task["id"], "effect") == accepted
        await _one_run(cluster, task["id"])
        return accepted

    callers = cluster.callers() * 8
    await all_of(*(race(caller, 0.04 * n) for n, caller in enumerate(callers)))


async def test_a_running_task_cannot_be_started_over(cluster: Cluster) -> None:
    task = await cluster.caller.send_task("ask colour?")
    with pytest.raises(WorkflowAlreadyStartedError):
        await cluster.client.start_workflow("Foreign", id=task["id"], task_queue=cluster.task_queue)
    assert state(await cluster.caller.get(task["id"])) == "INPUT_REQUIRED"


async def test_a_foreign_workflow_is_not_a_task(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        foreign = await cluster.client.start_workflow(
            "Foreign", id=str(uuid.uuid4()), task_queue=f"nobody-{uuid.uuid4()}"
        )
        before_it = await cluster.requests(foreign.id)

        await refused(caller.get(foreign.id), code=-32001, status=404)
        await refused(caller.cancel(foreign.id), code=-32001, status=404)
        await refused(caller.send("echo hi", task_id=foreign.id), code=-32001, status=404)

        assert await cluster.requests(foreign.id) == before_it
        await foreign.terminate()

    await over_every_binding(cluster.caller, scenario)


async def test_a_foreign_workflow_that_took_the_id_first_is_not_served(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        message_id = str(uuid.uuid4())
        task = await caller.send_task("effect pay", message_id=message_id)
        await cluster.delete(task["id"])
        foreign = await cluster.client.start_workflow(
            "Foreign", id=task["id"], task_queue=f"nobody-{uuid.uuid4()}"
        )

        # The same message leads to the same id, and that now belongs to somebody else.
        again = caller.send("effect pay", message_id=message_id)
        await refused(again, code=-32602, status=400)

        await refused(caller.get(foreign.id), code=-32001, status=404)
        assert await cluster.requests(foreign.id) == []
        assert cluster.ledger.count(task["id"], "effect") == 1
        await foreign.terminate()

    await over_every_binding(cluster.caller, scenario)
