"""Quorum, four eyes, double and foreign answers, through the doors that know who answers."""

import pytest
from temporalio.client import Client

from a2a_temporal import Agent, HandlerOptions
from a2a_temporal.testing import RefusedError, running_agent, state_of, status_text
from tests.integration.approvals.approval_flow import PaymentApproval
from tests.support.in_process import CARD


async def test_two_of_a_group_each_once(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval, max_cached_workflows=0) as agent:
        task = await agent.send("quorum")
        await agent.approve(task, by="ann", groups=["finance"])
        with pytest.raises(RefusedError, match="'ann' has already answered"):
            await agent.approve(task, by="ann", groups=["finance"])
        with pytest.raises(RefusedError, match="'eve' may not decide"):
            await agent.approve(task, by="eve", groups=["sales"])
        assert state_of(await agent.user.get(task)) == "input-required"
        await agent.approve(task, by="bob", groups=["finance"], comment="fine")
        task = await agent.settled(task)
        assert [part.text for part in task.artifacts[0].parts] == ["paid 5 to X (ann, bob)"]
        records = await agent.records(task)
        assert [(r.by, r.decision, r.verified, r.channel, r.comment) for r in records] == [
            ("ann", "approve", True, "inbox", ""),
            ("bob", "approve", True, "inbox", "fine"),
        ]
        assert len({record.details_sha256 for record in records}) == 1
        await agent.replay()


async def test_one_no_is_enough(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("quorum")
        await agent.approve(task, by="ann", groups=["finance"])
        await agent.reject(task, by="bob", groups=["finance"], comment="too much")
        task = await agent.settled(task)
        assert state_of(task) == "rejected"
        assert status_text(task) == "Not paid: rejected. too much"


async def test_four_eyes_holds_for_the_requester_and_for_the_nameless(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("four-eyes")
        answered = await agent.send("approve", task=task)
        assert "'requester' made the request" in status_text(answered)

        nobody = agent.as_user("")
        own = await nobody.send("four-eyes")
        answered = await nobody.send("approve", task=own)
        assert "needs to know who answers" in status_text(answered)
        assert state_of(answered) == "input-required"


async def test_four_eyes_holds_for_the_requester_whose_tasks_belong_to_a_team(
    skipping: Client,
) -> None:
    options = HandlerOptions(owner_of=lambda call_context: "team-red")
    payment = Agent(card=CARD, workflow=PaymentApproval, handler_options=options)
    async with running_agent(skipping, payment, user="rita", max_cached_workflows=0) as agent:
        task = await agent.send("four-eyes")
        answered = await agent.send("approve", task=task)
        assert "'rita' made the request" in status_text(answered)
        with pytest.raises(RefusedError, match="'team-red' made the request"):
            await agent.approve(task, by="team-red")
        done = await agent.as_user("bob").send("approve", task=task)
        assert [part.text for part in done.artifacts[0].parts] == ["paid 5 to X (bob)"]
        await agent.replay()


async def test_an_approver_answers_as_an_a2a_client_and_strangers_see_nothing(
    skipping: Client,
) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("group")
        with pytest.raises(Exception, match="not found"):
            await agent.as_user("eve", groups=["sales"]).send("approve", task=task)
        ann = agent.as_user("ann", groups=["finance"])
        done = await ann.send({"approved": True, "comment": "ok"}, task=task)
        assert state_of(done) == "completed"
        (record,) = await agent.records(task)
        assert (record.by, record.verified, record.channel, record.comment) == (
            "ann",
            True,
            "a2a",
            "ok",
        )


async def test_only_proven_names_count_where_that_is_asked(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("verified")
        await agent.workflow(task).signal("approve", {"by": "ann", "as": "finance"})
        await agent.told(task, "takes only answers of people a server has authenticated")
        assert await agent.records(task) == []
        await agent.approve(task, by="ann", groups=["finance"])
        assert state_of(await agent.settled(task)) == "completed"
