"""Which came first is what the history says, also when a worker meets all of it at once."""

from typing import Any

import pytest
from a2a.types import Task
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from a2a_temporal.testing import RunningAgent, running_agent, state_of
from tests.integration.approvals.asking_flows import AsksLater, TwoInARow
from tests.support.waiting import eventually


async def _timer_fired(agent: RunningAgent, task: Task, times: int) -> None:
    """Wait until Temporal has put so many fired timers into the history; no worker runs."""

    async def fired() -> bool:
        history = await agent.workflow(task).fetch_history()
        kinds = [event.event_type for event in history.events]
        return kinds.count(EventType.EVENT_TYPE_TIMER_FIRED) == times

    await eventually(fired, within=20, what="the timer in the history")


@pytest.mark.parametrize("cached", [0, 1000])
@pytest.mark.parametrize("typed", [[], [{"request": "approval-1"}]])
async def test_a_yes_that_stands_before_the_question_is_not_for_it(
    skipping: Client, cached: int, typed: list[Any]
) -> None:
    async with running_agent(skipping, AsksLater, max_cached_workflows=cached) as agent:
        task = await agent.send("go", wait=False)
        await agent.told(task, "Working")
        await agent.stop_worker()
        await agent.workflow(task).signal("approve", args=typed)
        await _timer_fired(agent, task, 1)
        await agent.start_worker()
        await agent.told(task, "did not count")
        assert state_of(await agent.until(task, "input-required")) == "input-required"
        assert await agent.records(task) == []
        await agent.approve(task, by="ann")
        await agent.settled(await agent.until(task, "completed"))
        await agent.replay()


async def test_a_message_that_stands_before_the_question_is_not_an_answer_to_it(
    skipping: Client,
) -> None:
    async with running_agent(skipping, AsksLater, max_cached_workflows=0) as agent:
        task = await agent.send("go", wait=False)
        await agent.told(task, "Working")
        await agent.stop_worker()
        await agent.send("approve", task=task, wait=False)
        await _timer_fired(agent, task, 1)
        await agent.start_worker()
        await agent.until(task, "input-required")
        assert await agent.records(task) == []
        done = await agent.send("approve", task=task)
        assert state_of(done) == "completed"
        await agent.replay()


@pytest.mark.parametrize("cached", [0, 1000])
@pytest.mark.parametrize("in_time", [True, False])
async def test_a_stored_answer_goes_before_a_deadline_nobody_has_acted_on(
    skipping: Client, cached: int, in_time: bool
) -> None:
    async with running_agent(skipping, AsksLater, max_cached_workflows=cached) as agent:
        task = await agent.send("in time", wait=False)
        await agent.until(task, "input-required")
        await agent.stop_worker()
        if in_time:
            await agent.workflow(task).signal("approve")
        await _timer_fired(agent, task, 2)
        if not in_time:
            await agent.workflow(task).signal("approve")
        await agent.start_worker()
        done = await agent.settled(await agent.until(task, "completed"))
        assert done.artifacts[0].parts[0].text == "approved"
        await agent.replay()


@pytest.mark.parametrize("cached", [0, 1000])
async def test_of_several_bare_yeses_met_at_once_one_counts_and_none_for_what_comes_next(
    skipping: Client, cached: int
) -> None:
    async with running_agent(skipping, TwoInARow, max_cached_workflows=cached) as agent:
        task = await agent.send("go")
        await agent.stop_worker()
        for _ in range(3):
            await agent.workflow(task).signal("approve")
            await agent.send("approve", task=task, wait=False)
        await agent.start_worker()
        await agent.told(task, "Do B? Reply 'approve approval-2' or 'reject approval-2'.")
        (record,) = await agent.records(task)
        assert record.request == "approval-1"
        await agent.replay()


@pytest.mark.parametrize("cached", [0, 1000])
@pytest.mark.parametrize("first", ["approve", "reject"])
async def test_of_answers_by_different_doors_the_first_counts(
    skipping: Client, cached: int, first: str
) -> None:
    async with running_agent(skipping, TwoInARow, max_cached_workflows=cached) as agent:
        task = await agent.send("go")
        await agent.stop_worker()
        if first == "approve":
            await agent.workflow(task).signal("approve")
        await agent.send("reject", task=task, wait=False)
        if first == "reject":
            await agent.workflow(task).signal("approve")
        await agent.start_worker()
        await agent.told(task, "Do B?")
        (record,) = await agent.records(task)
        assert (record.request, record.decision) == ("approval-1", first)
        await agent.replay()
