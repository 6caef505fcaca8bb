"""An answer given while no worker runs, repeated, or met by a fresh worker first, counts once."""

import asyncio
from datetime import timedelta

import pytest
from temporalio.client import Client

from a2a_temporal.testing import RefusedError, RunningAgent, running_agent, state_of
from tests.integration.approvals.approval_flow import PaymentApproval
from tests.integration.approvals.asking_flows import TwoInARow

CACHES = pytest.mark.parametrize("cached", [0, 1000])


async def _give(agent: RunningAgent, door: str, task_id: str) -> None:
    """Say yes through a door, without waiting for the workflow."""
    if door == "signal":
        await agent.workflow(task_id).signal("approve", {"by": "ann"})
    elif door == "message":
        await agent.user.send("approve", task=task_id, wait=False, message_id="the-answer")
    else:
        outcome = await agent.approve(task_id, by="ann", token="the-token")
        assert not outcome.handled


@CACHES
@pytest.mark.parametrize("door", ["signal", "message", "inbox"])
async def test_without_a_worker_it_is_stored_and_met_by_a_fresh_one(
    skipping: Client, cached: int, door: str
) -> None:
    async with running_agent(skipping, PaymentApproval, max_cached_workflows=cached) as agent:
        task = await agent.send("anyone")
        await agent.stop_worker()
        await _give(agent, door, task.id)
        shown = "working" if door == "message" else "input-required"
        assert state_of(await agent.user.get(task)) == shown
        (asked,) = await agent.requests(task)
        assert asked.id == "approval-1"
        await agent.start_worker()
        task = await agent.settled(await agent.until(task, "completed"))
        (record,) = await agent.records(task)
        assert record.decision == "approve"
        await agent.replay()


@CACHES
async def test_repeated_without_a_worker_it_counts_once(skipping: Client, cached: int) -> None:
    async with running_agent(skipping, TwoInARow, max_cached_workflows=cached) as agent:
        task = await agent.send("go")
        await agent.stop_worker()
        for _ in range(3):
            await agent.user.send("approve", task=task, wait=False, message_id="the-answer")
        await asyncio.gather(
            *(agent.approve(task, by="ann", request="approval-1", token="once") for _ in range(2))
        )
        await agent.workflow(task).signal("approve", {"request": "approval-1", "by": "bob"})
        await agent.start_worker()
        await agent.told(task, "Do B?")
        (record,) = await agent.records(task)
        assert record.request == "approval-1"
        (request,) = await agent.requests(task)
        assert request.id == "approval-2"
        await agent.replay()


async def test_an_answer_before_the_question_is_no_answer(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval, worker=False) as agent:
        task = await agent.send("anyone", wait=False)
        await agent.workflow(task).signal("approve", {"by": "ann"})
        await agent.start_worker()
        task = await agent.settled(task)
        assert state_of(task) == "input-required"
        assert await agent.records(task) == []


async def test_two_people_at_the_same_time_approve_a_and_nobody_approves_b(
    skipping: Client,
) -> None:
    async with running_agent(skipping, TwoInARow) as agent:
        task = await agent.send("go")
        bob = agent.as_user("requester")
        await asyncio.gather(
            agent.user.send("approve", task=task, wait=False),
            bob.send({"approved": True}, task=task, wait=False),
            return_exceptions=True,
        )
        await agent.told(task, "Do B?")
        (first,) = await agent.records(task)
        assert first.summary == "Do A?"

        # one of them repeats it, in words and with the id of A
        again = await agent.send("approve", task=task)
        assert state_of(again) == "input-required"
        stale = await agent.send({"approved": True, "request": "approval-1"}, task=task)
        assert state_of(stale) == "input-required"
        with pytest.raises(RefusedError, match="'approval-1' is not waiting"):
            await agent.approve(task, by="ann", request="approval-1")
        assert len(await agent.records(task)) == 1

        done = await agent.send({"approved": True, "request": "approval-2"}, task=task)
        assert done.artifacts[0].parts[0].text == "A B"
        assert [each.summary for each in await agent.records(task)] == ["Do A?", "Do B?"]


async def test_the_same_token_tells_the_same_outcome(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("quorum")
        first = await agent.approve(task, by="ann", groups=["finance"], token="t1")
        again = await agent.approve(task, by="ann", groups=["finance"], token="t1")
        assert first.record == again.record
        (request,) = await agent.requests(task)
        assert len(request.records) == 1


async def test_a_second_press_of_the_same_button_is_not_for_the_next_request(
    skipping: Client,
) -> None:
    async with running_agent(skipping, TwoInARow, max_cached_workflows=0) as agent:
        task = await agent.send("go")
        await agent.workflow(task).signal("approve")
        await agent.told(task, "Do B?")
        await agent.workflow(task).signal("approve")
        await agent.told(task, "asked only just now")
        assert len(await agent.records(task)) == 1
        await agent.skip(task, timedelta(minutes=1))
        await agent.workflow(task).signal("approve")
        task = await agent.settled(await agent.until(task, "completed"))
        assert task.artifacts[0].parts[0].text == "A B"
        await agent.replay()
