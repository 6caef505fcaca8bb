"""A task outlives its runs: continue-as-new and reset are followed, a terminate ends it."""

import asyncio

import pytest
from a2a.types.a2a_pb2 import Task
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, ResetReapplyExcludeType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client

from a2a_temporal import AgentOptions
from tests.support.in_process import Scripted, running
from tests.support.logs import prefixes
from tests.support.streams import watching
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually


async def test_a_stream_crosses_continue_as_new_without_a_seam(temporal: TemporalServer) -> None:
    client = await temporal.client()
    options = AgentOptions(continue_as_new_after=10)
    async with running(client, options=options) as agent:
        task_id = (await agent.send("chunks:3 ask")).id
        first_run = await _run_id(client, task_id)
        async with watching(agent.subscribe(task_id)) as stream:
            await stream.until(1)
            for turn in range(2, 5):
                await agent.send("chunks:3 ask", task_id=task_id)
                await _in_a_new_run(client, task_id, turn)
            await agent.send("chunks:3", task_id=task_id)
            await stream.end()
        last_run = await _run_id(client, task_id)
        assert first_run != last_run
        assert stream.chunks == [f"{turn}.{index} " for turn in range(1, 6) for index in range(3)]
        assert sum(isinstance(event, Task) for event in stream.events) == 1
        assert stream.last_state == "TASK_STATE_COMPLETED"
        assert len((await agent.get(task_id)).history) == 9
    assert len(await prefixes(client, task_id)) > 10


@pytest.mark.parametrize("again_from", ["its start", "its middle"])
async def test_a_stream_follows_a_reset(temporal: TemporalServer, again_from: str) -> None:
    client = await temporal.client()
    scripted = Scripted()
    async with running(client, scripted) as agent:
        task_id = await agent.start("say:a chunks:3 gate chunks:3")
        async with watching(agent.subscribe(task_id)) as stream:
            await eventually(lambda: len(stream.chunks) == 3, within=20, what="three chunks")
            await eventually(lambda: _quiet(client, task_id), within=20)
            await _reset(client, task_id, first=again_from == "its start")
            scripted.gate.set()
            await stream.end(within=60)
        expected = [f"1.{index} " for index in range(3)] * 2  # each chunk once, by the later run
        assert stream.chunks == expected
        assert stream.last_state == "TASK_STATE_COMPLETED"
        task = await agent.get(task_id)
        assert [part.text for each in task.artifacts for part in each.parts] == expected


async def test_a_finished_task_that_is_reset_is_followed_anew(temporal: TemporalServer) -> None:
    client = await temporal.client()
    scripted = Scripted()
    async with running(client, scripted) as agent:
        scripted.gate.set()
        task_id = (await agent.send("gate chunks:2")).id
        scripted.gate.clear()
        await _reset(client, task_id, first=True)
        async with watching(agent.subscribe(task_id)) as stream:
            await stream.until(1)
            assert stream.last_state != "TASK_STATE_COMPLETED"
            scripted.gate.set()
            await stream.end()
        assert stream.chunks == ["1.0 ", "1.1 "]


async def test_a_terminated_task_that_was_reset_before_has_failed(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    scripted = Scripted()
    async with running(client, scripted) as agent:
        task_id = await agent.start("gate ask")
        scripted.gate.set()
        await agent.send("gate", task_id=task_id)
        await _reset(client, task_id, first=True)
        scripted.gate.clear()
        async with watching(agent.subscribe(task_id)) as stream:
            await stream.until(1)
            await client.get_workflow_handle(task_id).terminate("enough")
            await stream.end()
        assert stream.last_state == "TASK_STATE_FAILED"
        assert sum(isinstance(event, Task) for event in stream.events) == 1


async def test_a_terminated_task_has_failed(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with running(client) as agent:
        task_id = (await agent.send("ask")).id
        async with watching(agent.subscribe(task_id)) as stream:
            await stream.until(1)
            await client.get_workflow_handle(task_id).terminate("enough")
            await stream.end()
        assert stream.last_state == "TASK_STATE_FAILED"
        status = (await agent.get(task_id)).status
        assert "terminated by an operator" in status.message.parts[0].text


async def test_a_canceled_workflow_is_a_canceled_task(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with running(client) as agent:
        task_id = (await agent.send("ask")).id
        async with watching(agent.subscribe(task_id)) as stream:
            await stream.until(1)
            await client.get_workflow_handle(task_id).cancel()
            await stream.end()
        assert stream.last_state == "TASK_STATE_CANCELED"


async def _reset(client: Client, task_id: str, *, first: bool) -> None:
    """Reset a task as an operator does, dropping the agent's events when it is to begin again."""
    completed = [
        event.event_id
        async for event in client.get_workflow_handle(task_id).fetch_history_events()
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    ]
    excluded = [ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL] if first else []
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=task_id),
            reason="test",
            request_id=task_id,
            workflow_task_finish_event_id=completed[0] if first else completed[-1],
            reset_reapply_exclude_types=excluded,
        )
    )


async def _run_id(client: Client, task_id: str) -> str:
    return (await client.get_workflow_handle(task_id).describe()).run_id


async def _in_a_new_run(client: Client, task_id: str, turn: int) -> None:
    """Wait until the run that took over has caught up, so that every turn begins in a new one."""

    async def look() -> bool:
        description = await client.get_workflow_handle(task_id).describe()
        return description.history_length < 10

    await eventually(look, within=20, what=f"the run after turn {turn}")


async def _quiet(client: Client, task_id: str) -> bool:
    described = await client.get_workflow_handle(task_id).describe()
    await asyncio.sleep(0)
    return not described.raw_description.HasField("pending_workflow_task")
