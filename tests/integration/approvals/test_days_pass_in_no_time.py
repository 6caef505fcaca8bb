"""The kit's clock: days pass for one task, its reminders and deadlines come, nobody waits."""

import time

from temporalio.client import Client

from a2a_temporal.testing import running_agent, state_of, status_text
from tests.integration.approvals.approval_flow import PaymentApproval


async def test_three_days_of_silence_escalate_at_once(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("group escalate")
        began = time.monotonic()
        task = await agent.expire(task)
        assert status_text(task).startswith("Escalated to cfo")
        await agent.approve(task, by="dora", groups=["cfo"])
        task = await agent.settled(task)
        assert state_of(task) == "completed"
        assert time.monotonic() - began < 10  # not three days
        await agent.replay()
