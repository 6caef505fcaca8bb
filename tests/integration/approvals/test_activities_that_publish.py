"""An activity that publishes writes its part once, also when the workflow is reset."""

from a2a.types import Task
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from a2a_temporal import Agent
from a2a_temporal.testing import RunningAgent, running_agent, state_of
from tests.integration.approvals.combined_flows import ReportsThenAsks, append
from tests.integration.approvals.publishing_flows import Reports, report
from tests.support.in_process import CARD
from tests.support.resets import reset_to_the_start
from tests.support.waiting import eventually, within

REPORTS = Agent(card=CARD, workflow=ReportsThenAsks, activities=[append])


async def test_a_report_is_written_anew_after_a_reset(skipping: Client) -> None:
    async with running_agent(skipping, REPORTS) as running:
        task = await running.send("go")
        await reset_to_the_start(skipping, task.id)
        await eventually(lambda: written(running, task), within=20, what="the second report")
        await eventually(lambda: running.requests(task), within=20, what="the request")
        done = await within(20, running.send("approve", task=task), what="the end")
        (report,) = done.artifacts
        assert (state_of(done), [part.text for part in report.parts]) == ("completed", ["0;", "1;"])


async def test_a_local_activity_is_told_that_it_cannot_publish(skipping: Client) -> None:
    async with running_agent(skipping, REPORTS) as running:
        task = await within(20, running.send("local"), what="the end")
        assert state_of(task) == "failed"


async def test_an_activity_publishes_in_several_blocks(skipping: Client) -> None:
    agent = Agent(card=CARD, workflow=Reports, activities=[report])
    async with running_agent(skipping, agent) as running:
        done = await within(20, running.send("1"), what="the end")
        (artifact,) = done.artifacts
        assert [part.text for part in artifact.parts] == ["1: half", " whole"]


async def written(running: RunningAgent, task: Task) -> bool:
    """Say whether the present run of a task has let its activity write."""
    history = await running.workflow(task).fetch_history()
    kinds = {event.event_type for event in history.events}
    return EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED in kinds
