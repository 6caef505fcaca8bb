"""What Temporal cannot hold fails the task at once with a text that says so; it is not retried."""

import pytest
from temporalio.client import Client

from a2a_temporal.testing import running_agent, status_text
from tests.integration.approvals.big_flow import Big


@pytest.mark.parametrize("kind", ["artifact", "status", "approval", "result"])
async def test_too_much_fails_the_task(skipping: Client, kind: str) -> None:
    async with running_agent(skipping, Big) as agent:
        task = await agent.send(kind, wait=False)
        task = await agent.until(task, "failed", within=10)
        assert "fit into one entry of the task log" in status_text(task)
        await agent.replay()
