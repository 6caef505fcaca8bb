"""What an author's code still does when a new run is to take over: nothing of that time is lost."""

import sys

import pytest
from a2a.types import CancelTaskRequest
from temporalio.client import Client

from a2a_temporal import Agent, AgentOptions
from a2a_temporal.testing import running_agent, state_of, status_text
from tests.integration.approvals.agent_flows import agent_within
from tests.integration.approvals.handover_flows import AgentInAGroup, TidiesUp, watch
from tests.support.in_process import CARD, Scripted
from tests.support.logs import first_run
from tests.support.waiting import within

SHORT_RUNS = AgentOptions(continue_as_new_after=1)

grouped = pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio has no TaskGroup")


async def test_what_comes_and_is_published_meanwhile_reaches_the_next_run(
    skipping: Client,
) -> None:
    agent = agent_within(TidiesUp, options=SHORT_RUNS)
    async with running_agent(skipping, agent) as running:
        task = await running.send("ask:where?", wait=False)
        await running.told(task, "Tidying up")
        await running.send("chunks:1", task=task, wait=False)
        await running.workflow(task).signal("done")
        done = await running.until(task, "completed")
        assert [each.artifact_id for each in done.artifacts] == ["tidy", "turn-2"]
        await running.replay()


async def test_what_is_asked_meanwhile_is_no_longer_asked_in_the_next_run(
    skipping: Client,
) -> None:
    agent = agent_within(TidiesUp, options=SHORT_RUNS)
    async with running_agent(skipping, agent) as running:
        task = await running.send("ask:where?", wait=False)
        await running.told(task, "Tidying up")
        await running.workflow(task).signal("ask")
        await running.told(task, "Which colour?")
        await running.workflow(task).signal("done")
        await running.told(task, "No longer asked: Which colour?")
        asked = await running.until(task, "input-required")
        assert (status_text(asked), await running.requests(task)) == ("where?", [])
        done = await within(20, running.send("chunks:1", task=task), what="the end")
        assert state_of(done) == "completed"
        await running.replay()


@grouped
@pytest.mark.parametrize("beside", ["", " watched"])
async def test_a_task_group_hands_over_as_well(skipping: Client, beside: str) -> None:
    async with running_agent(skipping, _grouped(SHORT_RUNS)) as running:
        task = await running.send("ask:where?" + beside)
        for message in ("ask:where?", "ask:where?", "chunks:1"):
            task = await within(20, running.send(message, task=task), what="an answer")
        assert state_of(task) == "completed"
        described = await running.workflow(task).describe()
        assert described.run_id != await first_run(skipping, task.id)
        await running.replay()


@grouped
@pytest.mark.parametrize("beside", ["", " watched"])
async def test_a_task_group_that_is_canceled_cancels_the_task(
    skipping: Client, beside: str
) -> None:
    async with running_agent(skipping, _grouped(AgentOptions())) as running:
        task = await running.send("ask:where?" + beside)
        canceled = await running.user.client.cancel_task(CancelTaskRequest(id=task.id))
        assert state_of(canceled) == "canceled"
        await running.replay()


@grouped
async def test_what_fails_in_a_task_group_is_told_as_it_would_be_without(
    skipping: Client,
) -> None:
    async with running_agent(skipping, _grouped(AgentOptions())) as running:
        task = await running.send("fail:Nothing_there")
        assert task.status.message.parts[0].text == "Nothing_there"
        await running.replay()


def _grouped(options: AgentOptions) -> Agent:
    return Agent(
        card=CARD,
        executor=Scripted(),
        workflow=AgentInAGroup,
        activities=[watch],
        agent_options=options,
    )
