"""A cancel, or code that gives up on the agent, stops it; what then happens the author decides."""

import pytest
from a2a.types import CancelTaskRequest
from temporalio.client import Client

from a2a_temporal.testing import running_agent, state_of, status_text
from tests.integration.approvals.agent_flows import agent_within
from tests.integration.approvals.combined_flows import AgentWithCleanup, AgentWithLimit
from tests.support.waiting import within


@pytest.mark.parametrize("doing", ["ask:where?", "say:busy gate"])
async def test_a_cancel_reaches_the_authors_code_around_the_agent(
    skipping: Client, doing: str
) -> None:
    agent = agent_within(AgentWithCleanup)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send(doing, wait=False)
        await running.told(task, "where?" if "ask" in doing else "busy")
        canceled = await running.user.client.cancel_task(CancelTaskRequest(id=task.id))
        assert state_of(canceled) == "canceled"
        assert [each.artifact_id for each in canceled.artifacts] == ["cleanup"]
        await running.replay()


@pytest.mark.parametrize("doing", ["ask:where?", "say:busy gate"])
async def test_an_agent_that_is_given_up_leaves_the_task_to_the_author(
    skipping: Client, doing: str
) -> None:
    agent = agent_within(AgentWithLimit)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send(doing, wait=False)
        await running.told(task, "Too slow. What now?")
        assert [each.id for each in await running.requests(task)] == ["input-1"]
        failed = await within(20, running.send("fail", task=task), what="the end")
        assert (state_of(failed), status_text(failed)) == ("failed", "The agent was too slow.")
        await running.replay()


async def test_an_agent_that_was_given_up_can_work_again(skipping: Client) -> None:
    agent = agent_within(AgentWithLimit)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("ask:where?")
        await running.told(task, "Too slow. What now?")
        await running.send("go on", task=task, wait=False)
        await running.told(task, "Thank you.")
        done = await within(20, running.send("chunks:1", task=task), what="the end")
        assert (state_of(done), len(done.artifacts)) == ("completed", 1)
        await running.replay()
