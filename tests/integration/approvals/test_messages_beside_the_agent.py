"""The author's code takes messages while the agent waits: each goes to one of the two."""

from a2a.types import Task
from temporalio.client import Client

from a2a_temporal.testing import RunningAgent, running_agent, state_of, status_text
from tests.integration.approvals.agent_flows import agent_within
from tests.integration.approvals.beside_flows import TakesMessages
from tests.support.in_process import Scripted
from tests.support.waiting import eventually, within


async def test_a_message_that_the_author_takes_leaves_the_agents_question_open(
    skipping: Client,
) -> None:
    scripted = Scripted()
    agent = agent_within(TakesMessages, scripted=scripted)
    async with running_agent(skipping, agent) as running:
        task = await running.send("gate ask:where?", wait=False)
        await running.workflow(task).signal("take")
        await eventually(lambda: _holds(running, task, "ready"), within=20)
        scripted.gate.set()
        await running.until(task, "input-required")
        asked = await within(20, running.send("a note", task=task), what="the question")
        assert (state_of(asked), status_text(asked)) == ("input-required", "where?")
        assert await _holds(running, task, "note")
        done = await within(20, running.send("chunks:1", task=task), what="the end")
        assert (state_of(done), len(done.artifacts)) == ("completed", 3)
        await running.replay()


async def _holds(running: RunningAgent, task: Task, artifact_id: str) -> bool:
    found = (await running.state(task)).task.artifacts
    return artifact_id in [each.artifact_id for each in found]
