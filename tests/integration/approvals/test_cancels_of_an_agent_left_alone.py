"""A cancel reaches an agent that its author's code has left to an ``asyncio`` task, once."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from temporalio.client import Client

from a2a_temporal import AgentOptions
from a2a_temporal.errors import RetryableError
from a2a_temporal.testing import running_agent
from tests.integration.approvals.agent_flows import AgentWithTimeout, agent_within
from tests.integration.approvals.beside_flows import StopsItsAgent, StopsItsAgentFromAfar
from tests.support.in_process import Scripted
from tests.support.turns import activity_in_back_off, turn_over

_PATIENT = AgentOptions(retry_interval=timedelta(minutes=5))


class Noting(Scripted):
    """Notes of which tasks it has stopped to work, and which it was told to cancel."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped: list[str] = []
        self.told: list[str] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        try:
            await super().execute(context, event_queue)
        except RetryableError:
            raise
        except asyncio.CancelledError:
            self.stopped.append(str(context.task_id))
            raise

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await asyncio.sleep(0.1)  # which a workflow that does not wait has ended by then
        self.told.append(str(context.task_id))


@pytest.mark.parametrize("flow", [AgentWithTimeout, StopsItsAgent, StopsItsAgentFromAfar])
@pytest.mark.parametrize("doing", ["flaky", "ask:where?", "say:busy gate"])
async def test_an_agent_cleans_up_before_its_task_is_canceled(
    skipping: Client, doing: str, flow: type[Any]
) -> None:
    noting = Noting()
    agent = agent_within(flow, scripted=noting, options=_PATIENT)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send(doing, wait=False)
        if doing == "flaky":
            await activity_in_back_off(skipping, task.id, attempt=2)
        elif "ask" in doing:
            await running.told(task, "where?")
            await turn_over(skipping, task.id)
        else:
            await running.told(task, "busy")
        await running.workflow(task).cancel()
        await running.until(task, "canceled")
        assert noting.told == [task.id]
        said = [message.parts for message in (await running.state(task)).task.history]
        assert "Nothing is asked any more." not in [part.text for parts in said for part in parts]
        assert noting.stopped == ([task.id] if "gate" in doing else [])
        await running.replay()
