"""Workflows that combine what the documentation shows one by one."""

import asyncio
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.common import RetryPolicy

from a2a_temporal.activity import Publisher
from a2a_temporal.workflow import TaskRun, TaskStart

_LIMITS = timedelta(seconds=20)


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


@activity.defn
async def tell() -> None:
    """Report progress."""
    async with Publisher() as task:
        await task.working("From an activity")


@workflow.defn
class TalksBesideAgent:
    """Does what its own signals say while the agent works or waits."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Let the agent work."""
        await self.task.run_agent()

    @workflow.signal
    def talk(self) -> None:
        """Report progress."""
        self.task.working("From the workflow")

    @workflow.signal
    async def publish(self) -> None:
        """Have an activity report progress."""
        await workflow.execute_activity(tell, start_to_close_timeout=_LIMITS)

    @workflow.signal
    def begin_anew(self) -> None:
        """Let a new run take over."""
        self.task.continue_as_new()

    @workflow.signal
    async def ask(self) -> None:
        """Ask people as well."""
        await self.task.require_input("Which colour?")


@workflow.defn
class SlowCleanup:
    """Takes a while to clean up behind a request that was canceled."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)
        self.cleaned = False

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Ask; clean up until told that it is done."""
        try:
            await self.task.require_approval("Pay?")
        except asyncio.CancelledError:
            await workflow.wait_condition(lambda: self.cleaned)
            raise

    @workflow.signal
    def done(self) -> None:
        """Say that it is done."""
        self.cleaned = True


@activity.defn
async def append() -> None:
    """Publish two chunks of the report."""
    async with Publisher() as task:
        for number in range(2):
            await task.add_artifact(f"{number};", artifact_id="report", append=True)


@workflow.defn
class ReportsThenAsks:
    """Publishes from an activity, regular or local, then asks."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Report, ask."""
        if self.task.text == "local":
            await workflow.execute_local_activity(
                append,
                start_to_close_timeout=_LIMITS,
                retry_policy=RetryPolicy(maximum_attempts=2),
            )
        else:
            await workflow.execute_activity(append, start_to_close_timeout=_LIMITS)
        await self.task.require_approval("Publish it?")


@workflow.defn
class OwnApprove:
    """Has a signal by which its TaskRun receives answers."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Ask."""
        await self.task.require_approval("Pay?")

    @workflow.signal
    def approve(self) -> None:
        """Is never called."""
