"""Workflows that do something of their own while the agent waits."""

import asyncio
from datetime import timedelta

from temporalio import workflow

from a2a_temporal.workflow import TaskRun, TaskStart, text_of


@workflow.defn
class TakesMessages:
    """Takes a message that the agent would have been given, each time a signal says so."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Let the agent work."""
        await self.task.run_agent()

    @workflow.signal
    async def take(self) -> None:
        """Take the next message."""
        self.task.add_artifact("ready", artifact_id="ready")
        async for message in self.task.messages():
            self.task.add_artifact(text_of(message), artifact_id="note")
            break


@workflow.defn
class GoesOnAlone:
    """Gives the agent up after a second, and goes on without it in a new run."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Give it a second, then begin anew."""
        if self.task.carried is None:
            try:
                await asyncio.wait_for(self.task.run_agent(), 1)
            except asyncio.TimeoutError:
                self.task.continue_as_new("alone")
        self.task.working("On my own")
        async for _ in self.task.messages():
            break


@workflow.defn
class AsksInTheNextRun:
    """Asks in the run that begins when a signal says so."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)
        self.next = False

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Wait, begin anew, ask."""
        if self.task.carried is None:
            await workflow.wait_condition(lambda: self.next)
            self.task.continue_as_new("next")
        decision = await self.task.require_approval("Pay?")
        said = [text_of(self.task.message)]
        async for message in self.task.messages():
            said.append(text_of(message))
            break
        return " ".join([decision.outcome, *said])

    @workflow.signal
    def begin_anew(self) -> None:
        """Begin anew."""
        self.next = True


@workflow.defn
class TakesNotes:
    """Gives the agent up after a second, and then takes messages without a word."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Take notes until told to stop, in a new run when told so."""
        if self.task.carried is None:
            try:
                await asyncio.wait_for(self.task.run_agent(), 1)
            except asyncio.TimeoutError:
                self.task.add_artifact("ready", artifact_id="ready")
        async for message in self.task.messages():
            match text_of(message):
                case "stop":
                    return
                case "anew":
                    self.task.continue_as_new("notes")
                case _:
                    pass


@workflow.defn
class CountsBesideAgent:
    """Counts while the agent works or waits."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)
        self.number = 0

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Let the agent work."""
        await self.task.run_agent()

    @workflow.signal
    def add(self) -> None:
        """Count one more."""
        self.number += 1

    @workflow.update
    def count(self) -> int:
        """Say how many there are."""
        return self.number


@workflow.defn
class StopsItsAgent:
    """Leaves the agent to an ``asyncio`` task, and stops that when it is canceled itself."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Wait for the agent."""
        agent = asyncio.create_task(self.task.run_agent())
        try:
            await workflow.wait_condition(agent.done)
        finally:
            agent.cancel()


@workflow.defn
class StopsItsAgentFromAfar:
    """The same, where the cancel takes a while to reach the agent."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Wait for the agent."""
        agent = asyncio.create_task(self._work(5))
        try:
            await workflow.wait_condition(agent.done)
        finally:
            agent.cancel()

    async def _work(self, tasks: int) -> None:
        if not tasks:
            return await self.task.run_agent()
        within = asyncio.create_task(self._work(tasks - 1))
        try:
            await workflow.wait_condition(within.done)
        finally:
            within.cancel()


@workflow.defn
class TalksBesideActivity:
    """Corrects a report that an activity elsewhere publishes."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Wait for an activity of a task queue on which nobody works."""
        await workflow.execute_activity(
            "report", task_queue="elsewhere", schedule_to_close_timeout=timedelta(hours=1)
        )

    @workflow.signal
    def talk(self) -> None:
        """Begin the report anew."""
        self.task.add_artifact("anew", artifact_id="report")
        self.task.working("From the workflow")


@workflow.defn
class AsksBeside:
    """Asks for as long as its agent works."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Ask, and let the agent work meanwhile."""
        asking = asyncio.create_task(self.task.require_input("Which?"))
        await self.task.run_agent()
        asking.cancel()
