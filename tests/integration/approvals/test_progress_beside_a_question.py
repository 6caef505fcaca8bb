"""Progress that is reported while people are asked hides nothing of what they are asked."""

from temporalio.client import Client

from a2a_temporal import Agent
from a2a_temporal.testing import RunningAgent, running_agent, state_of
from tests.integration.approvals.asking_flows import AsksAndWorks, write_report
from tests.support.in_process import CARD
from tests.support.waiting import eventually, within


async def test_what_is_asked_stays_open_for_everybody(skipping: Client) -> None:
    works = Agent(card=CARD, workflow=AsksAndWorks, activities=[write_report])
    async with running_agent(skipping, works, max_cached_workflows=0) as agent:
        task = await agent.send("go")
        await agent.told(task, "The report is written")
        await eventually(lambda: asked(agent, task.id), within=20, what="the open request")
        texts = [text for text in await said(agent, task.id) if text]
        assert "Writing" in texts, "progress is told all the same"
        done = await within(20, agent.send("yes", task=task))
        assert state_of(done) == "completed"
        assert [record.request for record in await agent.records(task)] == ["approval-1"]
        await agent.replay()


async def asked(agent: RunningAgent, task_id: str) -> bool:
    """Say whether the task waits for people, and says what for."""
    log = await agent.state(task_id)
    ids = [request.id for request in await agent.requests(task_id)]
    return ids == ["approval-1"] and state_of(log.task) == "input-required"


async def said(agent: RunningAgent, task_id: str) -> list[str]:
    """Return what the agent's side has said so far."""
    log = await agent.state(task_id)
    return [message.parts[0].text for message in log.task.history if message.parts]
