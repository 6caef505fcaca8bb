"""What Temporal cannot hold fails the task at once with a text that says so; it is not retried."""

import pytest
from a2a.utils.errors import InvalidParamsError
from temporalio.client import Client

from a2a_temporal.testing import running_agent, state_of, status_text
from tests.integration.approvals.approval_flow import PaymentApproval
from tests.integration.approvals.big_flow import Big


@pytest.mark.parametrize("kind", ["artifact", "status", "approval", "result"])
async def test_too_much_fails_the_task(skipping: Client, kind: str) -> None:
    async with running_agent(skipping, Big) as agent:
        task = await agent.send(kind, wait=False)
        task = await agent.until(task, "failed", within=30)
        assert "fit into one entry of the task log" in status_text(task)
        await agent.replay()


async def test_whoever_could_not_ask_for_much_may_ask_for_less(skipping: Client) -> None:
    async with running_agent(skipping, Big, max_cached_workflows=0) as agent:
        task = await agent.send("less")
        assert state_of(task) == "input-required"
        await agent.approve(task, by="dora", request="approval-2")
        task = await agent.until(task, "completed", within=30)
        assert task.artifacts[0].parts[0].text == "approved"
        await agent.replay()


async def test_a_client_cannot_end_a_task_by_an_answer_with_much_in_it(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("anyone")
        task = await agent.send({"approved": True, "request": "x" * 1_000_000}, task=task)
        assert state_of(task) == "input-required"
        assert len(status_text(task)) < 10_000
        with pytest.raises(InvalidParamsError) as refused:
            await agent.send({"approved": "x" * 1_000_000}, task=task)
        assert len(str(refused.value)) < 10_000
        task = await agent.send("approve", task=task)
        assert state_of(await agent.settled(task)) == "completed"


async def test_an_operator_cannot_end_a_task_by_a_long_answer(skipping: Client) -> None:
    async with running_agent(skipping, Big) as agent:
        task = await agent.send("question")
        await agent.workflow(task).signal("answer", {"answer": "x" * 1_900_000})
        await agent.told(task, "at most are taken")
        await agent.workflow(task).signal("answer", "blue")
        assert state_of(await agent.until(task, "completed")) == "completed"


async def test_many_answers_at_once_do_not_end_the_task(skipping: Client) -> None:
    async with running_agent(skipping, Big) as agent:
        task = await agent.send("much to read")
        await agent.stop_worker()
        for number in range(12):
            await agent.workflow(task).signal("approve", {"request": f"approval-{number + 7}"})
        await agent.start_worker()
        await agent.told(task, "'approval-18' is not waiting")
        assert state_of(await agent.user.get(task)) == "input-required"
        await agent.approve(task, by="dora")
        assert state_of(await agent.until(task, "completed")) == "completed"
        await agent.replay()
