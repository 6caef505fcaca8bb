"""A new run takes over what was said and asked, and nothing of it counts as something else."""

from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types import Part, Task
from temporalio.client import Client

from a2a_temporal import Agent, AgentOptions
from a2a_temporal.testing import RunningAgent, running_agent, state_of, status_text
from tests.integration.approvals.agent_flows import agent_within
from tests.integration.approvals.beside_flows import AsksInTheNextRun, GoesOnAlone
from tests.integration.approvals.combined_flows import TalksBesideAgent
from tests.support.in_process import CARD, Written, updater_of
from tests.support.logs import first_run
from tests.support.waiting import eventually, within

SHORT_RUNS = AgentOptions(continue_as_new_after=1)


async def test_what_was_said_before_answers_nothing_that_the_new_run_asks(
    skipping: Client,
) -> None:
    async with running_agent(skipping, AsksInTheNextRun) as running:
        task = await running.send("go", wait=False)
        await running.send("yes", task=task, wait=False)
        await running.workflow(task).signal("begin_anew")
        await eventually(lambda: _rests_in_a_new_run(running, task), within=20)
        assert await running.records(task) == []
        assert state_of(await running.until(task, "input-required")) == "input-required"
        await running.approve(task, by="ann")
        done = await running.until(task, "completed")
        assert done.artifacts[0].parts[0].text == "approved go yes"
        await running.replay()


async def test_a_question_of_an_agent_that_was_given_up_is_not_asked_again(
    skipping: Client,
) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        await updater.requires_input(updater.new_agent_message([Part(text="where?")]))

    agent = Agent(card=CARD, executor=Written(turn), workflow=GoesOnAlone)
    async with running_agent(skipping, agent) as running:
        task = await running.send("go", wait=False)
        await running.told(task, "On my own")
        await eventually(lambda: _rests_in_a_new_run(running, task), within=20)
        shown = (await running.state(task)).task
        assert (state_of(shown), status_text(shown)) == ("working", "On my own")
        await running.replay()


async def test_what_the_agent_asked_in_the_run_before_is_asked_again_with_its_text(
    skipping: Client,
) -> None:
    agent = agent_within(TalksBesideAgent, options=SHORT_RUNS)
    async with running_agent(skipping, agent) as running:
        task = await running.send("ask:where?")
        await eventually(lambda: _rests_in_a_new_run(running, task), within=20)
        await running.workflow(task).signal("talk")
        await running.told(task, "From the workflow")
        asked = await within(20, running.until(task, "input-required"))
        assert status_text(asked) == "where?"
        await running.replay()


async def _rests_in_a_new_run(running: RunningAgent, task: Task) -> bool:
    described = await running.workflow(task).describe()
    busy = described.raw_description.HasField("pending_workflow_task")
    return not busy and described.run_id != await first_run(running.temporal, task.id)
