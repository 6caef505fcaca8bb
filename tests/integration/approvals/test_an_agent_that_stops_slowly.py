"""A task is canceled once its agent has stopped, however often and by whom it was told to."""

import asyncio
import sys

import pytest
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types import Task
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from a2a_temporal import Agent
from a2a_temporal.testing import RunningAgent, running_agent, state_of
from tests.integration.approvals.agent_flows import AgentWithTimeout
from tests.support.in_process import CARD
from tests.support.waiting import eventually, within

WAYS = ["wait_for", "sleep"] + ["timeout"] * (sys.version_info >= (3, 11))


class Slow(AgentExecutor):
    """Works until it is interrupted, and stops when the test says so."""

    def __init__(self) -> None:
        self.begun, self.stopping, self.stop = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopping.set()
            await self.stop.wait()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        pass


@pytest.mark.parametrize("way", WAYS)
async def test_a_cancel_waits_for_an_agent_that_the_author_has_given_up(
    skipping: Client, way: str
) -> None:
    slow = Slow()
    agent = Agent(card=CARD, executor=slow, workflow=AgentWithTimeout)
    async with running_agent(skipping, agent) as running:
        task = await running.send(way, wait=False)
        await within(20, slow.stopping.wait(), what="the author's limit")
        await _is_canceled_once_it_stops(running, task, slow)


async def test_a_cancel_waits_for_an_agent_that_the_author_has_left(skipping: Client) -> None:
    slow = Slow()
    agent = Agent(card=CARD, executor=slow, workflow=AgentWithTimeout)
    async with running_agent(skipping, agent) as running:
        task = await running.send("never", wait=False)
        await within(20, slow.begun.wait(), what="the agent")
        await _is_canceled_once_it_stops(running, task, slow)


async def _is_canceled_once_it_stops(running: RunningAgent, task: Task, slow: Slow) -> None:
    try:
        await running.workflow(task).cancel()
        await eventually(lambda: _has_seen_the_cancel(running, task), within=20)
        assert state_of((await running.state(task)).task) != "canceled"
        await within(20, slow.stopping.wait(), what="the cancel")
    finally:
        slow.stop.set()
    await running.until(task, "canceled")
    await running.replay()


async def _has_seen_the_cancel(running: RunningAgent, task: Task) -> bool:
    events = (await running.workflow(task).fetch_history()).events
    kinds = [event.event_type for event in events]
    asked = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED
    if asked not in kinds:
        return False
    return EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED in kinds[kinds.index(asked) :]
