"""An author's workflow asks, and lets an ``AgentExecutor`` work: ``TaskRun.run_agent``.

Answers are messages of the task as well, but not of the agent: it must not wait for them, nor they
for it.
"""

import asyncio

from temporalio.client import Client

from a2a_temporal import Agent, AgentOptions
from a2a_temporal.testing import running_agent, state_of, status_text
from tests.integration.approvals.agent_flows import (
    AgentAfterApproval,
    AgentBesideQuestion,
    LongAgentAfterApproval,
)
from tests.integration.approvals.combined_flows import AgentInTheNextRun, TalksBesideAgent
from tests.support.in_process import CARD, Scripted
from tests.support.logs import first_run
from tests.support.waiting import within

SHORT_RUNS = AgentOptions(continue_as_new_after=10)


async def test_the_agent_works_once_people_have_answered(skipping: Client) -> None:
    agent = Agent(card=CARD, executor=Scripted(), workflow=AgentAfterApproval)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("chunks:2")
        await running.send("yes", task=task)
        done = await within(20, running.send("fast", task=task), what="the agent's end")
        assert state_of(done) == "completed"
        (artifact,) = done.artifacts
        assert [part.text for part in artifact.parts] == ["3.0 ", "3.1 "]
        await running.replay()


async def test_the_agent_may_ask_in_its_turn(skipping: Client) -> None:
    agent = Agent(card=CARD, executor=Scripted(), workflow=AgentAfterApproval)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("ask:where?")
        await running.send("yes", task=task)
        asked = await within(20, running.send("fast", task=task), what="the agent's question")
        assert (state_of(asked), status_text(asked)) == ("input-required", "where?")
        done = await within(20, running.send("chunks:1", task=task), what="the agent's end")
        assert state_of(done) == "completed"
        assert [len(artifact.parts) for artifact in done.artifacts] == [1]
        await running.replay()


async def test_an_answer_nobody_asked_for_leaves_the_agents_question_open(
    skipping: Client,
) -> None:
    agent = Agent(card=CARD, executor=Scripted(), workflow=AgentAfterApproval)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("ask:where?")
        await running.send("yes", task=task)
        await within(20, running.send("fast", task=task), what="the agent's question")
        await running.workflow(task).signal("approve", {"by": "ann"})
        await running.told(task, "That answer did not count.")
        assert state_of((await running.state(task)).task) == "input-required"
        await running.workflow(task).signal("approve", {"by": "ann"})
        done = await within(20, running.send("chunks:1", task=task), what="the agent's end")
        assert state_of(done) == "completed"
        await running.replay()


async def test_an_answer_that_comes_while_the_agent_works_keeps_nobody_waiting(
    skipping: Client,
) -> None:
    scripted = Scripted()
    agent = Agent(card=CARD, executor=scripted, workflow=AgentBesideQuestion)
    async with running_agent(skipping, agent) as running:
        task = await running.send("gate chunks:1")
        assert status_text(task) == "Which colour?"
        answering = asyncio.create_task(running.send("red", task=task))
        await running.told(task, "Thank you.")
        scripted.gate.set()
        done = await within(20, answering, what="the end")
        assert state_of(done) == "completed"
        assert len(done.artifacts) == 1


async def test_people_are_not_asked_again_when_the_history_grows_long(skipping: Client) -> None:
    agent = Agent(
        card=CARD,
        executor=Scripted(),
        workflow=AgentAfterApproval,
        agent_options=SHORT_RUNS,
    )
    async with running_agent(skipping, agent) as running:
        task = await running.send("ask:where?")
        await running.send("yes", task=task)
        for answer in ("fast", "ask:where?", "ask:where?"):
            asked = await within(20, running.send(answer, task=task), what="the agent's question")
            assert (state_of(asked), status_text(asked)) == ("input-required", "where?")
        done = await within(20, running.send("chunks:1", task=task), what="the agent's end")
        assert state_of(done) == "completed"
        assert len(await running.records(task)) == 2


async def test_a_new_run_takes_over_with_what_the_author_hands_on(skipping: Client) -> None:
    agent = Agent(
        card=CARD,
        executor=Scripted(),
        workflow=LongAgentAfterApproval,
        agent_options=SHORT_RUNS,
    )
    async with running_agent(skipping, agent) as running:
        task = await running.send("ask:where?")
        for answer in ("yes", "ask:where?", "ask:where?"):
            asked = await within(20, running.send(answer, task=task), what="the agent's question")
            assert (state_of(asked), status_text(asked)) == ("input-required", "where?")
        description = await running.workflow(task).describe()
        assert description.run_id != await first_run(skipping, task.id)
        done = await within(20, running.send("chunks:1", task=task), what="the agent's end")
        assert state_of(done) == "completed"
        assert len(await running.records(task)) == 1


async def test_the_agent_is_given_the_first_message_in_whatever_run_it_begins(
    skipping: Client,
) -> None:
    agent = Agent(card=CARD, executor=Scripted(), workflow=AgentInTheNextRun)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send("chunks:1")
        done = await within(20, running.send("yes", task=task), what="the agent's end")
        assert state_of(done) == "completed"
        texts = ["".join(part.text for part in artifact.parts) for artifact in done.artifacts]
        assert texts == ["approved", "begun", "2.0 "]
        await running.replay()


async def test_people_asked_beside_the_agent_are_not_asked_again(skipping: Client) -> None:
    agent = Agent(
        card=CARD,
        executor=Scripted(),
        workflow=AgentBesideQuestion,
        agent_options=SHORT_RUNS,
    )
    async with running_agent(skipping, agent) as running:
        task = await running.send("ask:where?")
        await running.answer(task, "red", request="input-1")
        for _ in range(4):
            asked = await within(20, running.send("ask:where?", task=task), what="the question")
            assert (state_of(asked), status_text(asked)) == ("input-required", "where?")
            assert await running.requests(task) == []
        done = await within(20, running.send("chunks:1", task=task), what="the agent's end")
        assert state_of(done) == "completed"
        assert len(await running.records(task)) == 1


async def test_no_run_takes_over_from_an_agent_at_work(skipping: Client) -> None:
    agent = Agent(card=CARD, executor=Scripted(), workflow=TalksBesideAgent)
    async with running_agent(skipping, agent) as running:
        task = await running.send("say:busy gate", wait=False)
        await running.told(task, "busy")
        await running.workflow(task).signal("begin_anew")
        await running.until(task, "failed")
