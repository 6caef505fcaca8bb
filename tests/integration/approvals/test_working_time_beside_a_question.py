"""While a workflow asks people, the agent that works beside it spends none of its time."""

import asyncio
from datetime import timedelta

from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue

from a2a_temporal import Agent, AgentOptions
from a2a_temporal.testing import running_agent, state_of
from tests.integration.approvals.beside_flows import AsksBeside
from tests.support.in_process import CARD, Written
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within


async def test_a_turn_ends_at_its_limit_only_when_nobody_is_asked(
    temporal: TemporalServer,
) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        await asyncio.sleep(3)

    agent = Agent(
        card=CARD,
        executor=Written(turn),
        workflow=AsksBeside,
        agent_options=AgentOptions(turn_timeout=timedelta(seconds=1)),
    )
    async with running_agent(await temporal.client(), agent) as running:
        asked = await within(30, running.send("ask beside the agent"))
        assert state_of(asked) == "input-required"
        done = await within(60, running.until(asked, "completed", "failed", within=50))
        assert state_of(done) == "completed"
        await running.replay()
