"""A cancel that finds no attempt at work still reaches the agent's ``cancel()``, once."""

import asyncio
from datetime import timedelta
from typing import Any

from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Part, TaskState
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import PollActivityTaskQueueRequest
from temporalio.client import Client
from temporalio.worker import Worker

from a2a_temporal import A2APlugin, Agent, AgentOptions
from a2a_temporal._log import wire
from a2a_temporal.errors import RetryableError
from a2a_temporal.testing import running_agent
from tests.integration.approvals.agent_flows import AgentWithTimeout
from tests.support.in_process import (
    CARD,
    Served,
    Written,
    agent_worker,
    new_task_queue,
    served,
    updater_of,
)
from tests.support.temporal_server import TemporalServer
from tests.support.turns import activity_in_back_off
from tests.support.waiting import eventually, steadily, within

PATIENT = AgentOptions(retry_interval=timedelta(minutes=5))


class Told(Written):
    """Notes which tasks it was told to cancel."""

    def __init__(self) -> None:
        super().__init__(self._begin)
        self.gate = asyncio.Event()
        self.told: list[str] = []

    async def _begin(self, context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        match context.get_user_input():
            case "ask":
                await updater.requires_input()
            case "retry":
                await updater.start_work()
                raise RetryableError("once more")
            case _:
                await updater.start_work()
                await self.gate.wait()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.told.append(str(context.task_id))


async def test_in_the_pause_before_the_next_one(temporal: TemporalServer) -> None:
    client, queue, told = await temporal.client(), new_task_queue(), Told()
    async with (
        agent_worker(client, queue, agent=told, options=PATIENT, cached=False),
        served(client, queue) as agent,
    ):
        task_id = await agent.start("retry")
        await activity_in_back_off(client, task_id, attempt=2)
        await client.get_workflow_handle(task_id).cancel()
        await eventually(lambda: _canceled(agent, task_id), within=20)
        assert told.told == [task_id]


async def test_within_a_workflow_whose_code_has_left_its_agent(temporal: TemporalServer) -> None:
    client, told = await temporal.client(), Told()
    agent = Agent(card=CARD, executor=told, workflow=AgentWithTimeout, agent_options=PATIENT)
    async with running_agent(client, agent, max_cached_workflows=0) as running:
        task = await running.send("retry", wait=False)
        await activity_in_back_off(client, task.id, attempt=2)
        await running.workflow(task).cancel()
        await running.until(task, "canceled")
        assert told.told == [task.id]
        await running.replay()


async def test_while_its_worker_is_away(temporal: TemporalServer) -> None:
    client, queue, told = await temporal.client(), new_task_queue(), Told()
    async with served(client, queue) as agent:
        async with agent_worker(client, queue, agent=told):
            task_id = await agent.start("wait")
            await eventually(lambda: told.turns, within=20)
        await activity_in_back_off(client, task_id, attempt=2)
        await client.get_workflow_handle(task_id).cancel()
        async with agent_worker(client, queue, agent=told):
            await eventually(lambda: _canceled(agent, task_id), within=20)
        assert told.told == [task_id]


async def test_while_its_worker_has_no_room(temporal: TemporalServer) -> None:
    client, queue, told = await temporal.client(), new_task_queue(), Told()
    options = AgentOptions(cancel_timeout=timedelta(seconds=1))
    plugin = A2APlugin(agent_executor=told, options=options)
    async with (
        Worker(client, task_queue=queue, plugins=[plugin], max_concurrent_activities=1),
        served(client, queue) as agent,
    ):
        parked = (await agent.send("ask")).id
        await agent.start("wait")
        await eventually(lambda: told.turns == 2, within=20)
        await client.get_workflow_handle(parked).cancel()
        await steadily(lambda: _still_waits(agent, parked), during=2)
        told.gate.set()
        await eventually(lambda: _canceled(agent, parked), within=20)
        assert told.told == [parked]


async def test_after_a_worker_is_lost_that_was_to_tell_it(temporal: TemporalServer) -> None:
    """How long a clean-up may take says nothing about how soon a lost one is noticed."""
    client, queue, told = await temporal.client(), new_task_queue(), Told()
    options = AgentOptions(
        cancel_timeout=timedelta(hours=1),
        heartbeat_interval=timedelta(milliseconds=200),
        heartbeat_timeout=timedelta(seconds=1),
    )
    async with served(client, queue) as agent:
        async with agent_worker(client, queue, agent=told, options=options):
            parked = (await agent.send("ask")).id
        await client.get_workflow_handle(parked).cancel()
        plugin = A2APlugin(agent_executor=told, options=options)
        async with Worker(client, task_queue=queue, plugins=[plugin], no_remote_activities=True):
            await within(20, _lose_activity(client, queue), what="an activity")
        async with agent_worker(client, queue, agent=told, options=options):
            await eventually(lambda: _canceled(agent, parked), within=20)
        assert told.told == [parked]


class Refunding(Told):
    """Says what it has done when it is told to cancel."""

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await super().cancel(context, event_queue)
        await updater_of(context, event_queue).add_artifact(
            [Part(text="all")], artifact_id="refund"
        )


async def test_what_it_says_counts_after_what_a_lost_one_has_said(temporal: TemporalServer) -> None:
    client, queue, refunding = await temporal.client(), new_task_queue(), Refunding()
    options = AgentOptions(
        heartbeat_interval=timedelta(milliseconds=200), heartbeat_timeout=timedelta(seconds=1)
    )
    async with served(client, queue) as agent:
        async with agent_worker(client, queue, agent=refunding, options=options):
            parked = (await agent.send("ask")).id
        workflow = client.get_workflow_handle(parked)
        await workflow.cancel()
        plugin = A2APlugin(agent_executor=refunding, options=options)
        async with Worker(client, task_queue=queue, plugins=[plugin], no_remote_activities=True):
            lost = await within(20, _lose_activity(client, queue), what="an activity")
            await workflow.signal(wire.EVENTS_SIGNAL, _first_word(lost))
        async with agent_worker(client, queue, agent=refunding, options=options):
            await eventually(lambda: _canceled(agent, parked), within=20)
        (artifact,) = (await agent.get(parked)).artifacts
        assert [part.text for part in artifact.parts] == ["all"]


def _first_word(lost: dict[str, Any]) -> dict[str, Any]:
    """What an attempt at a hook publishes first."""
    artifact = {"artifactId": "refund", "parts": [{"text": "a part"}]}
    return {
        "version": wire.LOG_VERSION,
        "turn": lost["turn"],
        "attempt": lost["attempt"],
        "sequence": lost["sequence"] + 1,
        "events": [{"artifactUpdate": {"artifact": artifact}}],
        "at": "2026-01-02T12:00:00.000Z",
    }


async def _lose_activity(client: Client, queue: str) -> dict[str, Any]:
    """Take the next activity, as a worker that is lost right then; returns its input."""
    request = PollActivityTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), identity="lost"
    )
    taken = await client.workflow_service.poll_activity_task_queue(request)
    assert taken.activity_type.name == wire.CANCEL_AGENT_ACTIVITY
    (given,) = await client.data_converter.decode(taken.input.payloads)
    return given


async def _still_waits(agent: Served, task_id: str) -> None:
    state = (await agent.get(task_id)).status.state
    assert state == TaskState.TASK_STATE_INPUT_REQUIRED


async def _canceled(agent: Served, task_id: str) -> bool:
    return (await agent.get(task_id)).status.state == TaskState.TASK_STATE_CANCELED
