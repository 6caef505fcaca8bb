"""What Temporal cannot hold fails the task at once with a text that says so; it is not retried."""

import pytest
from temporalio.client import Client

from a2a_temporal.testing import running_agent, state_of, status_text
from tests.integration.approvals.big_flow import Big


@pytest.mark.parametrize("kind", ["artifact", "status", "approval", "result"])
async def test_too_much_fails_the_task(skipping: Client, kind: str) -> None:
    async with running_agent(skipping, Big) as agent:
        task = await agent.send(kind, wait=False)
        task = await agent.until(task, "failed", within=10)
        assert "fit into one entry of the task log" in status_text(task)
        await agent.replay()


async def test_whoever_could_not_ask_for_much_may_ask_for_less(skipping: Client) -> None:
    async with running_agent(skipping, Big, max_cached_workflows=0) as agent:
        task = await agent.send("less")
        assert state_of(task) == "input-required"
        await agent.approve(task, by="dora", request="approval-2")
        task = await agent.until(task, "completed", within=10)
        assert task.artifacts[0].parts[0].text == "approved"
        await agent.replay()
