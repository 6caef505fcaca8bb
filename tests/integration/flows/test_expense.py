"""The expense workflow: who agrees, who is asked next, and that the money is paid once."""

from datetime import timedelta

import pytest
from temporalio.client import Client

from a2a_temporal.testing import RefusedError, running_agent, state_of, status_text
from tests.integration.flows.conftest import Outside
from workflows.expense import agent as expenses

TAXI = "42.50 EUR to Blue Taxi for the airport ride"


async def test_two_of_finance_agree_and_it_is_paid_once(skipping: Client, outside: Outside) -> None:
    async with running_agent(skipping, expenses, max_cached_workflows=0) as agent:
        task = await agent.send(TAXI)
        assert "Pay 42.50 EUR to Blue Taxi for the airport ride?" in status_text(task)
        await agent.approve(task, by="ann", groups=["finance"])
        assert state_of(await agent.user.get(task)) == "input-required"
        assert outside.effects("payment") == []
        await agent.approve(task, by="ben", groups=["finance"])
        task = await agent.settled(task)
        assert state_of(task) == "completed"
        assert status_text(task) == "Paid. Approved by ann and ben."
        (payment,) = outside.effects("payment")
        assert payment["paid"] == TAXI
        await agent.replay()


async def test_the_requester_cannot_approve_their_own(skipping: Client, outside: Outside) -> None:
    async with running_agent(skipping, expenses) as agent:
        requester = agent.as_user("rita", groups=["finance"])
        task = await requester.send(TAXI)
        task = await requester.send("approve", task=task)
        assert "four eyes" in status_text(task)
        with pytest.raises(RefusedError, match="four eyes"):
            await agent.approve(task, by="rita", groups=["finance"])
        assert outside.effects("payment") == []


async def test_a_smaller_amount_is_approved_anew_and_paid(
    skipping: Client, outside: Outside
) -> None:
    async with running_agent(skipping, expenses) as agent:
        task = await agent.send({"amount": 90, "currency": "EUR", "payee": "Chez Rita"})
        await agent.approve(task, by="ann", groups=["finance"])
        smaller = {"amount": 60, "currency": "EUR", "payee": "Chez Rita", "purpose": ""}
        await agent.approve(task, by="ben", groups=["finance"], details=smaller)
        assert state_of(await agent.user.get(task)) == "input-required"
        await agent.approve(task, by="ann", groups=["finance"])
        assert state_of(await agent.settled(task)) == "completed"
        (payment,) = outside.effects("payment")
        assert payment["paid"] == "60.00 EUR to Chez Rita"


async def test_silence_reminds_then_escalates_to_the_cfo_alone(
    skipping: Client, outside: Outside
) -> None:
    async with running_agent(skipping, expenses) as agent:
        task = await agent.send(TAXI)
        await agent.skip(task, timedelta(days=1, minutes=1))
        task = (await agent.state(task)).task
        assert status_text(task).startswith("Reminder: Pay 42.50 EUR")
        task = await agent.expire(task)
        assert status_text(task).startswith("Escalated to cfo")
        with pytest.raises(RefusedError, match="cfo may"):
            await agent.approve(task, by="ann", groups=["finance"])
        await agent.approve(task, by="dora", groups=["cfo"])
        assert state_of(await agent.settled(task)) == "completed"
        assert len(outside.effects("payment")) == 1
        await agent.replay()


async def test_five_days_of_silence_pay_nothing(skipping: Client, outside: Outside) -> None:
    async with running_agent(skipping, expenses) as agent:
        task = await agent.expire(await agent.send(TAXI))
        task = await agent.expire(task)
        task = await agent.settled(task)
        assert (state_of(task), status_text(task)) == (
            "rejected",
            "Not paid: nobody agreed in time.",
        )
        assert outside.effects("payment") == []


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        ("pay me", "Write '42.50 EUR to Blue Taxi"),
        ({"amount": -1, "currency": "EUR", "payee": "X"}, "amount: Input should be greater than 0"),
    ],
)
async def test_what_is_no_expense_fails_with_what_is_wrong(
    skipping: Client, outside: Outside, sent: str | dict[str, object], problem: str
) -> None:
    async with running_agent(skipping, expenses) as agent:
        task = await agent.send(sent)
        assert state_of(task) == "failed"
        assert problem in status_text(task)
