"""Approve with changes: validated against the model, and what was approved before is void."""

import pytest
from temporalio.client import Client

from a2a_temporal.testing import RefusedError, running_agent, state_of, status_text
from tests.integration.approvals.approval_flow import PaymentApproval

LESS = {"payee": "X", "amount": 4}


async def test_invalid_changes_are_refused_with_every_problem(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("anyone")
        with pytest.raises(RefusedError) as refused:
            await agent.approve(task, by="ann", details={"amount": -4})
        assert "payee: Field required" in str(refused.value)
        assert "amount: Input should be greater than 0" in str(refused.value)
        assert state_of(await agent.user.get(task)) == "input-required"
        (request,) = await agent.requests(task)
        assert request.details == {"payee": "X", "amount": 5}
        assert request.schema is not None
        assert sorted(request.schema["properties"]) == ["amount", "payee"]


async def test_changes_are_what_is_paid(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval, max_cached_workflows=0) as agent:
        task = await agent.send("anyone")
        await agent.approve(task, by="ann", details=LESS)
        task = await agent.settled(task)
        assert [part.text for part in task.artifacts[0].parts] == ["paid 4 to X (ann)"]
        (record,) = await agent.records(task)
        assert record.changed_details
        await agent.replay()


async def test_changes_void_earlier_approvals_and_answers_to_the_old_details(
    skipping: Client,
) -> None:
    async with running_agent(skipping, PaymentApproval, max_cached_workflows=0) as agent:
        task = await agent.send("quorum")
        ann = agent.as_user("ann", groups=["finance"])
        await ann.send("approve", task=task)
        await agent.approve(task, by="bob", groups=["finance"], details=LESS)
        (request,) = await agent.requests(task)
        assert [record.by for record in request.records] == ["bob"]

        # cara has the old page open: her yes is for 5, not for 4
        with pytest.raises(RefusedError, match="'approval-1' is not waiting"):
            await agent.approve(task, by="cara", groups=["finance"], request="approval-1")
        cara = agent.as_user("cara", groups=["finance"])
        answered = await cara.send("approve", task=task)
        assert "name what you answer" in status_text(answered)
        assert "approve approval-2" in status_text(answered)

        done = await ann.send("approve approval-2", task=task)
        assert [part.text for part in done.artifacts[0].parts] == ["paid 4 to X (bob, ann)"]
        hashes = [record.details_sha256 for record in await agent.records(task)]
        assert len(hashes) == 3
        assert hashes[0] != hashes[1] == hashes[2]
        await agent.replay()


async def test_the_same_details_again_are_no_change(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("quorum")
        await agent.approve(task, by="ann", groups=["finance"])
        same = {"payee": "X", "amount": 5.0}
        await agent.approve(task, by="bob", groups=["finance"], details=same)
        task = await agent.settled(task)
        assert state_of(task) == "completed"
        assert [record.changed_details for record in await agent.records(task)] == [False, False]
