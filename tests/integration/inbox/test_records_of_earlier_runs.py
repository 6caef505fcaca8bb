"""A reset takes a decision out of the task, never out of the export."""

from temporalio.client import Client

from a2a_temporal._server.approvals import Approvals
from a2a_temporal.testing import RunningAgent, running_agent, state_of
from tests.integration.approvals.approval_flow import PaymentApproval
from tests.support.resets import reset_to_the_start
from tests.support.waiting import eventually


async def test_decisions_of_a_run_that_was_reset_are_exported_as_superseded(
    inbox_temporal: Client,
) -> None:
    async with running_agent(inbox_temporal, PaymentApproval) as agent:
        task = await agent.send("anyone")
        await agent.approve(task, by="ann")
        assert state_of(await agent.settled(task)) == "completed"
        await reset_to_the_start(inbox_temporal, task.id, without_signals=True)
        task = await agent.until(task, "input-required")
        assert await agent.records(task) == []
        await agent.reject(task, by="bob")
        await agent.until(task, "rejected")
        assert await _exported(agent, task.id, 2) == [("ann", True), ("bob", False)]


async def _exported(agent: RunningAgent, task_id: str, runs: int) -> list[tuple[str, bool]]:
    query = f"WorkflowId = '{task_id}'"

    async def known() -> bool:
        return (await agent.temporal.count_workflows(query)).count == runs

    await eventually(known, within=30, what="all runs in visibility")
    approvals = Approvals(agent.temporal)
    try:
        missing: dict[str, str] = {}
        found = [each async for each in approvals.records(query, unreadable=missing)]
    finally:
        await approvals.aclose()
    assert missing == {}
    return [(each["by"], each["superseded"]) for each in found]
