"""An author's workflow asks, and lets an ``AgentExecutor`` work: ``TaskRun.run_agent``.

Answers are messages of the task as well, but not of the agent: it must not wait for them, nor they
for it.
"""

import asyncio

import pytest
from a2a.types import Task
from temporalio.client import Client

from a2a_temporal import AgentOptions
from a2a_temporal.testing import RunningAgent, running_agent, state_of, status_text
from tests.integration.approvals.agent_flows import (
    ActsBeforeTheAgent,
    AgentAfterApproval,
    AgentBesideQuestion,
    LongAgentAfterApproval,
    NothingButTheAgent,
    agent_within,
    charge,
    charged,
)
from tests.integration.approvals.combined_flows import AgentInTheNextRun, TalksBesideAgent
from tests.support.in_process import Scripted
from tests.support.logs import first_run
from tests.support.resets import reset_to_the_start
from tests.support.turns import complete_turn
from tests.support.waiting import eventually, within

SHORT_RUNS = AgentOptions(continue_as_new_after=10)


async def test_the_agent_works_once_people_have_answered(skipping: Client) -> None:
    agent = agent_within(AgentAfterApproval)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("chunks:2")
        await running.send("yes", task=task)
        done = await within(20, running.send("fast", task=task), what="the agent's end")
        assert state_of(done) == "completed"
        (artifact,) = done.artifacts
        assert [part.text for part in artifact.parts] == ["3.0 ", "3.1 "]
        await running.replay()


async def test_the_agent_may_ask_in_its_turn(skipping: Client) -> None:
    agent = agent_within(AgentAfterApproval)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("ask:where?")
        await running.send("yes", task=task)
        await the_agent_asks(running, task, "fast")
        done = await the_agent_completes(running, task)
        assert [len(artifact.parts) for artifact in done.artifacts] == [1]
        await running.replay()


async def test_an_answer_nobody_asked_for_leaves_the_agents_question_open(
    skipping: Client,
) -> None:
    agent = agent_within(AgentAfterApproval)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("ask:where?")
        await running.send("yes", task=task)
        await within(20, running.send("fast", task=task), what="the agent's question")
        await running.workflow(task).signal("approve", {"by": "ann"})
        await running.told(task, "That answer did not count.")
        assert state_of((await running.state(task)).task) == "input-required"
        await running.workflow(task).signal("approve", {"by": "ann"})
        await the_agent_completes(running, task)
        await running.replay()


async def test_the_agents_old_question_answers_no_new_message(skipping: Client) -> None:
    agent = agent_within(AgentAfterApproval)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:

        async def misled_and_asked() -> None:
            task = await running.send("ask:where?")
            await running.send("yes", task=task)
            await the_agent_asks(running, task, "fast")
            # What nobody asked for is told not to count, just as the answer arrives.
            workflow = running.workflow(task)
            misled = (workflow.signal("approve", {"by": "ann"}) for _ in range(8))
            await asyncio.gather(*misled, the_agent_completes(running, task))

        await asyncio.gather(*(misled_and_asked() for _ in range(12)))


async def test_an_answer_that_comes_while_the_agent_works_keeps_nobody_waiting(
    skipping: Client,
) -> None:
    scripted = Scripted()
    agent = agent_within(AgentBesideQuestion, scripted=scripted)
    async with running_agent(skipping, agent) as running:
        task = await running.send("gate chunks:1")
        assert status_text(task) == "Which colour?"
        answering = asyncio.create_task(running.send("red", task=task))
        await running.told(task, "Thank you.")
        scripted.gate.set()
        done = await within(20, answering, what="the end")
        assert state_of(done) == "completed"
        assert len(done.artifacts) == 1


async def test_an_attempt_that_fails_while_people_are_asked_is_made_again(
    skipping: Client,
) -> None:
    agent = agent_within(AgentBesideQuestion)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("say:busy chunks:2 flaky chunks:1", wait=False)
        done = await running.until(task, "completed")
        (artifact,) = done.artifacts
        assert [part.text for part in artifact.parts] == ["1.0 ", "1.1 ", "1.0 "]
        await running.replay()


async def test_a_turn_completed_by_hand_while_people_are_asked_completes_the_task(
    skipping: Client,
) -> None:
    agent = agent_within(AgentBesideQuestion)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("chunks:1 gate", wait=False)
        await running.told(task, "Which colour?")
        await complete_turn(skipping, task.id, None)
        await running.until(task, "completed")
        await running.replay()


async def test_people_are_not_asked_again_when_the_history_grows_long(skipping: Client) -> None:
    agent = agent_within(AgentAfterApproval, options=SHORT_RUNS)
    async with running_agent(skipping, agent) as running:
        task = await running.send("ask:where?")
        await running.send("yes", task=task)
        for answer in ("fast", "ask:where?", "ask:where?"):
            await the_agent_asks(running, task, answer)
        await the_agent_completes(running, task)
        assert len(await running.records(task)) == 2


@pytest.mark.parametrize("act", ["artifact", "status", "local", "activity"])
async def test_what_is_done_right_before_the_agent_is_done_once(skipping: Client, act: str) -> None:
    agent = agent_within(ActsBeforeTheAgent, options=SHORT_RUNS, activities=[charge])
    async with running_agent(skipping, agent) as running:
        task = await running.send(f"{act} ask")
        for _ in range(3):
            await the_agent_asks(running, task, "ask:where?")
        done = await the_agent_completes(running, task)
        assert [each.name for each in done.artifacts].count("terms") == (act == "artifact")
        said = [part.text for message in done.history for part in message.parts]
        assert said.count("Terms") == (act == "status")
        assert charged.count(task.id) == (act in ("local", "activity"))


async def test_what_a_handler_does_before_the_agent_keeps_no_task_in_its_run(
    skipping: Client,
) -> None:
    """A new run would not do it again."""
    agent = agent_within(TalksBesideAgent, options=SHORT_RUNS)
    async with running_agent(skipping, agent, worker=False, max_cached_workflows=0) as running:
        task = await running.send("ask:where?", wait=False)
        await running.workflow(task).signal("talk")
        await running.start_worker()
        await running.told(task, "where?")
        for _ in range(2):
            await the_agent_asks(running, task, "ask:where?")
        description = await running.workflow(task).describe()
        assert description.run_id != await first_run(skipping, task.id)
        done = await the_agent_completes(running, task)
        said = [part.text for message in done.history for part in message.parts]
        assert said.count("From the workflow") == 1
        await running.replay()


async def test_a_new_run_takes_over_with_what_the_author_hands_on(skipping: Client) -> None:
    agent = agent_within(LongAgentAfterApproval, options=SHORT_RUNS)
    async with running_agent(skipping, agent) as running:
        task = await running.send("ask:where?")
        for answer in ("yes", "ask:where?", "ask:where?"):
            await the_agent_asks(running, task, answer)
        description = await running.workflow(task).describe()
        assert description.run_id != await first_run(skipping, task.id)
        await the_agent_completes(running, task)
        assert len(await running.records(task)) == 1


async def test_the_agent_is_given_the_first_message_in_whatever_run_it_begins(
    skipping: Client,
) -> None:
    agent = agent_within(AgentInTheNextRun)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("chunks:1")
        done = await within(20, running.send("yes", task=task), what="the agent's end")
        assert state_of(done) == "completed"
        texts = ["".join(part.text for part in artifact.parts) for artifact in done.artifacts]
        assert texts == ["approved", "begun", "2.0 "]
        await running.replay()


async def test_people_asked_beside_the_agent_are_not_asked_again(skipping: Client) -> None:
    agent = agent_within(AgentBesideQuestion, options=SHORT_RUNS)
    async with running_agent(skipping, agent) as running:
        task = await running.send("ask:where?")
        await running.answer(task, "red", request="input-1")
        for _ in range(4):
            await the_agent_asks(running, task, "ask:where?")
            assert await running.requests(task) == []
        await the_agent_completes(running, task)
        assert len(await running.records(task)) == 1


async def test_no_run_takes_over_from_an_agent_at_work(skipping: Client) -> None:
    agent = agent_within(TalksBesideAgent)
    async with running_agent(skipping, agent) as running:
        task = await running.send("say:busy gate", wait=False)
        await running.told(task, "busy")
        await running.workflow(task).signal("begin_anew")
        await running.until(task, "failed")


@pytest.mark.parametrize("options", [AgentOptions(), SHORT_RUNS], ids=["one run", "short runs"])
async def test_a_reset_that_keeps_the_signals_leaves_the_agents_question_open(
    skipping: Client, options: AgentOptions
) -> None:
    agent = agent_within(NothingButTheAgent, options=options)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("ask:where?")
        for _ in range(4):
            await the_agent_asks(running, task, "ask:where?")
        await reset_to_the_start(skipping, task.id, await first_run(skipping, task.id))
        await eventually(lambda: rests(running, task), within=20)
        assert state_of((await running.state(task)).task) == "input-required"
        done = await the_agent_completes(running, task)
        assert len([each for each in done.history if each.parts[0].text == "ask:where?"]) == 5


async def rests(running: RunningAgent, task: Task) -> bool:
    """Say whether nothing is left to do in a task's workflow for the moment."""
    described = (await running.workflow(task).describe()).raw_description
    return not described.HasField("pending_workflow_task") and not described.pending_activities


async def the_agent_asks(running: RunningAgent, task: Task, message: str) -> None:
    """Send a message; the agent's question has to answer it."""
    asked = await within(20, running.send(message, task=task), what="the agent's question")
    assert (state_of(asked), status_text(asked)) == ("input-required", "where?")


async def the_agent_completes(running: RunningAgent, task: Task) -> Task:
    """Let the agent do its last piece of work; the task has to end with it."""
    done = await within(20, running.send("chunks:1", task=task), what="the agent's end")
    assert state_of(done) == "completed"
    return done
