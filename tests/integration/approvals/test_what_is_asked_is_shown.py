"""A task shows what is asked for as long as it is, an agent's question too, and not longer."""

import asyncio

import pytest
from a2a.types import Task
from temporalio.client import Client

from a2a_temporal import Agent
from a2a_temporal.testing import RunningAgent, running_agent, state_of, status_text
from tests.integration.approvals.agent_flows import AgentBesideQuestion, agent_within
from tests.integration.approvals.combined_flows import SlowCleanup, TalksBesideAgent, tell
from tests.support.in_process import CARD, Scripted
from tests.support.waiting import eventually, within


@pytest.mark.parametrize("asks", ["ask:where?", "auth:where?"])
@pytest.mark.parametrize("covers", ["talk", "publish", "approve"])
async def test_what_the_agent_asks_stays_asked(skipping: Client, asks: str, covers: str) -> None:
    agent = Agent(card=CARD, executor=Scripted(), workflow=TalksBesideAgent, activities=[tell])
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send(asks)
        asked = (state_of(task), status_text(task))
        assert asked[1] == "where?"
        await running.workflow(task).signal(covers)
        await running.told(task, "did not count" if covers == "approve" else "From ")
        await eventually(lambda: shows(running, task, asked), within=20, what="the question")
        done = await within(20, running.send("chunks:1", task=task), what="the end")
        assert (state_of(done), len(done.artifacts)) == ("completed", 1)
        await running.replay()


async def test_the_agent_asks_on_when_people_have_answered(skipping: Client) -> None:
    agent = agent_within(TalksBesideAgent)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("ask:where?")
        await running.workflow(task).signal("ask")
        await running.told(task, "Which colour?")
        asked = await within(20, running.send("red", task=task), what="the agent's question")
        assert (state_of(asked), status_text(asked)) == ("input-required", "where?")
        await running.replay()


async def test_who_answers_before_the_agent_asks_reads_what_it_asks(skipping: Client) -> None:
    scripted = Scripted()
    agent = agent_within(AgentBesideQuestion, scripted=scripted)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("gate ask:where?")
        answering = asyncio.create_task(running.send("red", task=task))
        await running.told(task, "Thank you.")
        scripted.gate.set()
        asked = await within(20, answering, what="the agent's question")
        assert (state_of(asked), status_text(asked)) == ("input-required", "where?")
        done = await within(20, running.send("chunks:1", task=task), what="the end")
        assert state_of(done) == "completed"
        await running.replay()


async def test_nothing_is_asked_while_a_canceled_workflow_cleans_up(skipping: Client) -> None:
    async with running_agent(skipping, SlowCleanup, max_cached_workflows=0) as running:
        task = await running.send("go")
        assert [each.id for each in await running.requests(task)] == ["approval-1"]
        await running.workflow(task).cancel()
        await running.until(task, "working")
        assert await running.requests(task) == []
        await running.workflow(task).signal("done")
        await running.until(task, "canceled")
        await running.replay()


async def shows(running: RunningAgent, task: Task, asked: tuple[str, str]) -> bool:
    """Say whether a task waits in a state with a text."""
    now = (await running.state(task)).task
    return (state_of(now), status_text(now)) == asked
