"""Workflows that combine what the documentation shows one by one."""

import asyncio

from temporalio import workflow

from a2a_temporal.workflow import TaskRun, TaskStart


@workflow.defn
class EndedFromOutside:
    """Waits in the way its message names, until a signal of its own ends the task."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Wait for people or for the agent."""
        match self.task.text:
            case "approval":
                return (await self.task.require_approval("Pay?")).outcome
            case "input":
                return await self.task.require_input("Colour?")
            case _:
                await self.task.run_agent()
                return ""

    @workflow.signal
    def obsolete(self) -> None:
        """End the task from a handler."""
        self.task.reject("Nobody needs it any more.")


@workflow.defn
class AgentWithCleanup:
    """Lets the agent work and cleans up behind it when it is canceled."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Clean up, and let the cancel through."""
        try:
            await self.task.run_agent()
        except asyncio.CancelledError:
            self.task.add_artifact("cleaned up", artifact_id="cleanup")
            raise


@workflow.defn
class AgentWithLimit:
    """Gives the agent up after a second; asks what then, and lets it go on."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Give it a second."""
        try:
            await asyncio.wait_for(self.task.run_agent(), 1)
        except asyncio.TimeoutError:
            if await self.task.require_input("Too slow. What now?") == "fail":
                return self.task.fail("The agent was too slow.")
            await self.task.run_agent()


@workflow.defn
class AgentInTheNextRun:
    """Asks in a run of its own, the agent works in the next."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Ask, begin anew, let the agent work."""
        if self.task.carried is None:
            await self.task.require_approval("Let the agent work?")
            self.task.add_artifact("approved")
            self.task.continue_as_new("approved")
        self.task.add_artifact("begun")
        await self.task.run_agent()
