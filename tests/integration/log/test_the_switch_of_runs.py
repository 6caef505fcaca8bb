"""A run that is about to end waits for its delivery workflow; what comes meanwhile counts."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest_asyncio
from a2a.types.a2a_pb2 import Task, TaskState
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.worker import Replayer, Worker

from a2a_temporal import A2APlugin, AgentOptions, TemporalRequestHandler
from a2a_temporal._log import wire
from tests.integration.log.switching_workflow import Repeating, SlowChildren
from tests.support.in_process import CARD, Scripted, Served, new_task_queue
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

RUNS = 2
_CONFIG = {
    "version": wire.LOG_VERSION,
    "at": "2026-01-02T12:00:00.000Z",
    "most": 10,
    "set": {"id": "mine", "url": "http://127.0.0.1:9/"},
}


@pytest_asyncio.fixture
async def client(temporal: TemporalServer) -> Client:
    return await temporal.client()


async def test_a_message_to_an_agent_is_handled(client: Client) -> None:
    async with _agent(client) as (agent, task_id):
        answered = await within(30, agent.send("chunks:1 ask", task_id=task_id))
        assert _artifacts(answered) == ["2.0 "]
        assert await eventually(lambda: _runs(client, task_id), within=30) == RUNS


async def test_a_cancel_lets_the_agent_clean_up(client: Client) -> None:
    async with _agent(client) as (agent, task_id):
        canceled = await within(10, agent.cancel(task_id))
        assert canceled is not None
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED
        said = [part.text for message in canceled.history for part in message.parts]
        assert "cleaning up" in said


async def test_a_message_to_an_authors_workflow_is_handled(client: Client) -> None:
    async with _workflow(client) as (agent, task_id):
        await agent.send("late", task_id=task_id, wait=False)
        ended = await within(30, agent.send("end", task_id=task_id))
        assert ended.status.state == TaskState.TASK_STATE_COMPLETED
        assert _artifacts(ended) == ["early", "late"]
        assert await eventually(lambda: _runs(client, task_id), within=30) == RUNS


async def test_a_cancel_of_an_authors_workflow_counts(client: Client) -> None:
    async with _workflow(client) as (agent, task_id):
        canceled = await within(10, agent.cancel(task_id))
        assert canceled is not None
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED
        await eventually(lambda: _has_ended(client, task_id), within=30)
        await client.get_workflow_handle(wire.push_workflow_id(task_id, 1)).describe()


async def test_a_cancel_that_comes_after_the_end_changes_neither_end_nor_deliveries(
    client: Client,
) -> None:
    async with _serving(client, Repeating, Scripted()) as agent:
        task_id = await agent.start("begin")
        await _push(client, task_id)
        await agent.send("end", task_id=task_id, wait=False)
        await _handled(client, task_id, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
        handle = client.get_workflow_handle(task_id)
        await handle.cancel()
        await eventually(lambda: _is_closed(client, task_id), within=30)
        assert (await handle.describe()).status == WorkflowExecutionStatus.COMPLETED
        await client.get_workflow_handle(wire.push_workflow_id(task_id, 1)).describe()
        replayer = Replayer(
            workflows=[Repeating], plugins=[A2APlugin()], interceptors=[SlowChildren()]
        )
        await replayer.replay_workflow(await handle.fetch_history())


@asynccontextmanager
async def _agent(client: Client) -> AsyncGenerator[tuple[Served, str]]:
    """An agent's task that waits for its client, and is about to go on in a new run."""
    agent = Scripted()
    async with _serving(client, wire.AGENT_WORKFLOW, agent) as serving:
        task_id = await serving.start("gate ask")
        await _push(client, task_id)
        agent.gate.set()
        await _handled(client, task_id, EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED)
        yield serving, task_id


@asynccontextmanager
async def _workflow(client: Client) -> AsyncGenerator[tuple[Served, str]]:
    """The task of a workflow of an author's own that is about to go on in a new run."""
    async with _serving(client, Repeating, Scripted()) as serving:
        task_id = await serving.start("begin")
        await serving.send("early", task_id=task_id, wait=False)
        await _push(client, task_id)
        await serving.send("switch", task_id=task_id, wait=False)
        await _handled(client, task_id, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
        yield serving, task_id


@asynccontextmanager
async def _serving(client: Client, workflow: type | str, agent: Scripted) -> AsyncGenerator[Served]:
    queue = new_task_queue()
    handler = TemporalRequestHandler(client, agent_card=CARD, task_queue=queue, workflow=workflow)
    await handler.start()
    async with Worker(
        client,
        task_queue=queue,
        workflows=[Repeating],
        plugins=[A2APlugin(agent_executor=agent, options=AgentOptions(continue_as_new_after=1))],
        interceptors=[SlowChildren()],
    ):
        yield Served(handler=handler, task_queue=queue)
    await handler.aclose()


async def _push(client: Client, task_id: str) -> None:
    """Have somebody told of a task's events, and wait until its workflow starts to."""
    await client.get_workflow_handle(task_id).signal(wire.PUSH_CONFIG_SIGNAL, _CONFIG)
    await _handled(client, task_id, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)


async def _handled(client: Client, task_id: str, kind: EventType.ValueType) -> None:
    """Wait until the workflow has seen the latest event of a kind."""

    async def handled() -> bool:
        events = client.get_workflow_handle(task_id).fetch_history_events()
        kinds = [event.event_type async for event in events]
        if kind not in kinds:
            return False
        later = kinds[len(kinds) - kinds[::-1].index(kind) :]
        return EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED in later

    await eventually(handled, within=30)


async def _runs(client: Client, task_id: str) -> int | None:
    found = (await client.count_workflows(f"WorkflowId = '{task_id}'")).count
    return found if found >= RUNS else None


async def _is_closed(client: Client, task_id: str) -> bool:
    status = (await client.get_workflow_handle(task_id).describe()).status
    return status != WorkflowExecutionStatus.RUNNING


async def _has_ended(client: Client, task_id: str) -> bool:
    status = (await client.get_workflow_handle(task_id).describe()).status
    return status == WorkflowExecutionStatus.CANCELED


def _artifacts(task: Task) -> list[str]:
    return ["".join(part.text for part in each.parts) for each in task.artifacts]
