"""The kit takes an ``AgentExecutor`` as it is."""

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Part
from temporalio.client import Client

from a2a_temporal.testing import running_agent, state_of


class Echo(AgentExecutor):
    """Says what it was told."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Say it."""
        task = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await task.add_artifact([Part(text=context.get_user_input())])

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Nothing is left to stop."""


async def test_it_is_run(skipping: Client) -> None:
    async with running_agent(skipping, Echo()) as agent:
        task = await agent.send("hello")
        assert state_of(task) == "completed"
        assert task.artifacts[0].parts[0].text == "hello"
