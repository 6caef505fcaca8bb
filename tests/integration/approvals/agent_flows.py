"""Workflows of which an ``AgentExecutor`` is a part, and the agents they make."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow

from a2a_temporal.workflow import TaskRun, TaskStart

with workflow.unsafe.imports_passed_through():
    from a2a_temporal import Agent, AgentOptions
    from tests.support.in_process import CARD, Scripted

_LIMIT = timedelta(seconds=30)


def agent_within(
    flow: type[Any],
    *,
    scripted: Scripted | None = None,
    options: AgentOptions | None = None,
    activities: Sequence[Callable[..., Any]] = (),
) -> Agent:
    """Return an agent that is a workflow and has the scripted executor."""
    executor = scripted or Scripted()
    return Agent(
        card=CARD, executor=executor, workflow=flow, agent_options=options, activities=activities
    )


@workflow.defn
class NothingButTheAgent:
    """Hands over at once."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Hand over."""
        await self.task.run_agent()


@workflow.defn
class AgentAfterApproval:
    """Asks first, then lets the agent work."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Ask, then hand over."""
        await self.task.require_approval("Let the agent work?")
        await self.task.require_input("How fast?")
        await self.task.run_agent()


@workflow.defn
class AgentBesideQuestion:
    """Asks while the agent works."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Do both at once."""
        await asyncio.gather(self.task.run_agent(), self.task.require_input("Which colour?"))


@workflow.defn
class LongAgentAfterApproval:
    """The same; a new run knows that people have answered."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Ask in the first run only."""
        if self.task.carried != "approved":
            await self.task.require_approval("Let the agent work?")
        await self.task.run_agent(carried="approved")


@workflow.defn
class AgentWithTimeout:
    """Gives the agent up after a second, in the way that its message names, or never."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Give it a second, then end the task."""
        try:
            match self.task.text:
                case "wait_for":
                    await asyncio.wait_for(self.task.run_agent(), 1)
                case "timeout":
                    async with vars(asyncio)["timeout"](1):  # which Python 3.10 does not have
                        await self.task.run_agent()
                case "sleep":
                    agent = asyncio.create_task(self.task.run_agent())
                    await workflow.sleep(1)
                    agent.cancel()
                    await workflow.wait_condition(agent.done)
                case _:
                    agent = asyncio.create_task(self._work())
                    await workflow.wait_condition(agent.done)
        except asyncio.TimeoutError:
            self.task.fail("The agent was too slow.")

    async def _work(self) -> None:
        await self.task.run_agent()
        self.task.complete("The agent has done it.")


charged: list[str] = []
"""The ids of the tasks that were charged for."""


@activity.defn
async def charge(task_id: str) -> None:
    """Charge for a task."""
    charged.append(task_id)


@workflow.defn
class ActsBeforeTheAgent:
    """Does what its message says, none of which takes a step of its own, then hands over."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Act, then hand over."""
        match self.task.text:
            case "artifact ask":
                self.task.add_artifact("Terms", name="terms")
            case "status ask":
                self.task.working("Terms")
            case "local ask":
                await workflow.execute_local_activity(
                    charge, self.task.id, start_to_close_timeout=_LIMIT
                )
            case _:
                workflow.start_activity(charge, self.task.id, start_to_close_timeout=_LIMIT)
        await self.task.run_agent()
