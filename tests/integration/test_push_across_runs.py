"""Deliveries go on over every seam: new runs of the task, of its delivery workflow, and resets."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowExecutionStatus

from a2a_temporal._log import wire
from tests.support.cluster import Cluster, running_cluster
from tests.support.hook import hook
from tests.support.push import inline, pushing
from tests.support.temporal_server import NAMESPACE, running_server
from tests.support.waiting import eventually


@pytest_asyncio.fixture
async def restless(tmp_path: Path) -> AsyncIterator[Cluster]:
    """A cluster on a server that advises every workflow to continue as new very soon."""
    advice = "--dynamic-config-value=limit.historyCount.suggestContinueAsNew=25"
    async with (
        running_server(tmp_path, arguments=[advice]) as server,
        running_cluster(server, tmp_path, apis=1, workers=1, options=pushing()) as cluster,
    ):
        yield cluster


async def test_the_delivery_workflow_goes_on_in_new_runs(restless: Cluster) -> None:
    async with hook() as receiver:
        task = await restless.caller.start(
            "; ".join(["pause 0.5; status 1"] * 12), configuration=inline(receiver.config())
        )
        child = wire.push_workflow_id(task["id"], 1)
        await eventually(lambda: has_runs(restless, child, 2), within=20, what="a second run")
        await receiver.told("COMPLETED", within=30)
        assert receiver.states() == ["SUBMITTED", *["WORKING"] * 13, "COMPLETED"]


async def test_turns_in_different_runs_of_the_task_are_told_in_order(restless: Cluster) -> None:
    async with hook() as receiver:
        task = await restless.caller.send_task(
            "ask one; ask two; ask three; ask four", configuration=inline(receiver.config())
        )
        for answer in ("1", "2", "3", "4"):
            task = await restless.caller.send_task(answer, task_id=task["id"])
        await receiver.told("COMPLETED")
        # The last WORKING of each is that of the message that answers.
        turns = ["WORKING", "INPUT_REQUIRED", "WORKING"] * 4
        assert receiver.states() == ["SUBMITTED", *turns, "WORKING", "COMPLETED"]
        assert await restless.known_to_temporal(wire.push_workflow_id(task["id"], 2))


async def test_a_reset_task_is_told_from_where_it_goes_on(pusher: Cluster) -> None:
    async with hook() as receiver:
        task = await pusher.caller.send_task("ask it", configuration=inline(receiver.config()))
        await receiver.told("INPUT_REQUIRED")
        await pusher.workflow(task["id"]).signal(wire.MESSAGE_SIGNAL, {"malformed": True})
        await reset_to_last_task(pusher, task["id"])
        await receiver.told("INPUT_REQUIRED")
        await pusher.caller.send_task("answer", task_id=task["id"])
        await receiver.told("COMPLETED")
        states = ["SUBMITTED", "WORKING", "INPUT_REQUIRED"]
        answered = ["WORKING", "WORKING", "COMPLETED"]
        assert receiver.states() == [*states, "INPUT_REQUIRED", *answered]
        for number in (1, 2):
            child = wire.push_workflow_id(task["id"], number)
            await eventually(lambda child=child: is_completed(pusher, child), within=30)


async def test_a_task_may_be_reset_again_and_again(pusher: Cluster) -> None:
    async with hook() as receiver:
        task = await pusher.caller.send_task("ask it", configuration=inline(receiver.config()))
        await receiver.told("INPUT_REQUIRED")
        for number in (2, 3, 4):
            await pusher.workflow(task["id"]).signal(wire.MESSAGE_SIGNAL, {"malformed": True})
            await reset_to_last_task(pusher, task["id"])
            child = wire.push_workflow_id(task["id"], number)
            await eventually(lambda child=child: pusher.known_to_temporal(child), within=30)
            told = ["INPUT_REQUIRED"] * number
            await eventually(lambda told=told: receiver.states()[2:] == told, within=30)
        await pusher.caller.send_task("answer", task_id=task["id"])
        await receiver.told("COMPLETED")
        asked = ["INPUT_REQUIRED"] * 4
        states = ["SUBMITTED", "WORKING", *asked, "WORKING", "WORKING", "COMPLETED"]
        assert receiver.states() == states
        await all_completed(pusher, task["id"], children=4)


async def test_a_task_may_be_reset_to_the_same_place_again_and_again(pusher: Cluster) -> None:
    async with hook() as receiver:
        task = await pusher.caller.send_task("ask it", configuration=inline(receiver.config()))
        await receiver.told("INPUT_REQUIRED")
        await pusher.workflow(task["id"]).signal(wire.MESSAGE_SIGNAL, {"malformed": True})
        place = await eventually(lambda: last_completed_task(pusher, task["id"]), within=30)
        for number in (2, 3, 4):
            await reset_to(pusher, task["id"], place)
            child = wire.push_workflow_id(task["id"], number)
            await eventually(lambda child=child: pusher.known_to_temporal(child), within=30)
            told = ["INPUT_REQUIRED"] * number
            await eventually(lambda told=told: receiver.states()[2:] == told, within=30)
        await pusher.caller.send_task("answer", task_id=task["id"])
        await receiver.told("COMPLETED")
        await all_completed(pusher, task["id"], children=4)


async def test_a_task_may_be_reset_to_where_its_delivery_was_being_started(pusher: Cluster) -> None:
    async with hook() as receiver:
        task = await pusher.caller.send_task("ask it", configuration=inline(receiver.config()))
        await receiver.told("INPUT_REQUIRED")
        await pusher.workflow(task["id"]).signal(wire.MESSAGE_SIGNAL, {"malformed": True})
        await reset_to_last_task(pusher, task["id"])
        told = ["INPUT_REQUIRED"] * 2
        await eventually(lambda: receiver.states()[2:] == told, within=30)
        place = await eventually(lambda: last_start_of_a_child(pusher, task["id"]), within=30)
        await reset_to(pusher, task["id"], place)
        await eventually(lambda: receiver.states()[2:] == [*told, "INPUT_REQUIRED"], within=30)
        await pusher.caller.send_task("answer", task_id=task["id"])
        await receiver.told("COMPLETED")


async def all_completed(cluster: Cluster, task_id: str, *, children: int) -> None:
    """Wait until each delivery workflow of a task has completed."""
    for number in range(1, children + 1):
        child = wire.push_workflow_id(task_id, number)
        await eventually(lambda child=child: is_completed(cluster, child), within=30)


async def is_completed(cluster: Cluster, workflow_id: str) -> bool:
    return await cluster.workflow_status(workflow_id) == WorkflowExecutionStatus.COMPLETED


async def has_runs(cluster: Cluster, workflow_id: str, number: int) -> bool:
    return await cluster.runs(workflow_id) >= number


async def reset_to_last_task(cluster: Cluster, task_id: str) -> None:
    """Reset a task's workflow as an operator does who wants its last steps anew."""

    event_id = await eventually(lambda: last_completed_task(cluster, task_id), within=30)
    await reset_to(cluster, task_id, event_id)


async def last_completed_task(cluster: Cluster, task_id: str) -> int | None:
    """Return the last workflow task before the last signal, which the new run thus gets again.

    A run that is reset to its very end has nothing to do, so its code is not called.
    """
    found: int | None = None
    last = 0
    async for event in cluster.workflow(task_id).fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            last = event.event_id
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
            found = last or None
    return found


async def last_start_of_a_child(cluster: Cluster, task_id: str) -> int | None:
    """Return the workflow task that asked for the newest child, before the answer was known."""
    found: int | None = None
    task = 0
    async for event in cluster.workflow(task_id).fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            task = event.event_id
        if event.event_type == EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
            found = task
    return found


async def reset_to(cluster: Cluster, task_id: str, event_id: int) -> None:
    await cluster.client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=NAMESPACE,
            workflow_execution=WorkflowExecution(workflow_id=task_id),
            reason="test",
            workflow_task_finish_event_id=event_id,
            request_id=str(uuid.uuid4()),
        )
    )
