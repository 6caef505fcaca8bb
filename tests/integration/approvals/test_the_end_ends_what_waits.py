"""A task that has ended asks nobody any more, so its workflow closes, whoever ended it."""

import pytest
from a2a.types import Task
from temporalio.client import Client, WorkflowExecutionStatus

from a2a_temporal.testing import RunningAgent, running_agent
from tests.integration.approvals.agent_flows import AgentBesideQuestion, agent_within
from tests.integration.approvals.combined_flows import EndedFromOutside
from tests.support.in_process import Scripted
from tests.support.waiting import eventually, within


@pytest.mark.parametrize("waits_for", ["approval", "input", "ask:where?"])
async def test_the_author_ends_the_task_from_a_handler(skipping: Client, waits_for: str) -> None:
    agent = agent_within(EndedFromOutside)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send(waits_for)
        await eventually(lambda: at_rest(running, task), within=20, what="the end of the turn")
        await running.workflow(task).signal("obsolete")
        await running.until(task, "rejected")
        await eventually(lambda: closed(running, task), within=20, what="the workflow's close")
        await running.replay()


@pytest.mark.parametrize("signals", [["obsolete", "approve"], ["approve", "obsolete"]])
async def test_a_yes_that_meets_the_end_does_nothing_any_more(
    skipping: Client, signals: list[str]
) -> None:
    async with running_agent(skipping, EndedFromOutside) as running:
        task = await running.send("approval")
        await running.stop_worker()
        for signal in signals:
            await running.workflow(task).signal(signal)
        await running.start_worker()
        await running.until(task, "rejected")
        assert await within(20, running.workflow(task).result(), what="the close") is None
        await running.replay()


async def test_the_agent_ends_the_task_while_people_are_asked(skipping: Client) -> None:
    scripted = Scripted()
    agent = agent_within(AgentBesideQuestion, scripted=scripted)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("gate chunks:1", wait=False)
        await running.told(task, "Which colour?")
        scripted.gate.set()
        await running.until(task, "completed")
        await eventually(lambda: closed(running, task), within=20, what="the workflow's close")
        await running.replay()


async def at_rest(running: RunningAgent, task: Task) -> bool:
    """Say whether no activity of a task runs."""
    described = await running.workflow(task).describe()
    return not described.raw_description.pending_activities


async def closed(running: RunningAgent, task: Task) -> bool:
    """Say whether a task's workflow has closed as completed."""
    described = await running.workflow(task).describe()
    return described.status == WorkflowExecutionStatus.COMPLETED
