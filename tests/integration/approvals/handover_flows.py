"""Workflows whose code goes on for a while when a new run is to take over."""

import asyncio
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow

from a2a_temporal.workflow import TaskRun, TaskStart


@workflow.defn
class TidiesUp:
    """Tidies up when a new run is to take over, until a signal says that it is done."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)
        self.tidy = False
        self.asking: asyncio.Task[str] | None = None

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Let the agent work, tidy up."""
        try:
            await self.task.run_agent()
        except workflow.ContinueAsNewError:
            self.task.working("Tidying up")
            await workflow.wait_condition(lambda: self.tidy)
            self.task.add_artifact("tidy", artifact_id="tidy")
            raise

    @workflow.signal
    def ask(self) -> None:
        """Ask people as well, beside it all."""
        self.asking = asyncio.create_task(self.task.require_input("Which colour?"))

    @workflow.signal
    def done(self) -> None:
        """Say that it is tidy."""
        self.tidy = True


@activity.defn
async def watch() -> None:
    """Watch over the agent until canceled."""
    while True:
        activity.heartbeat()
        await asyncio.sleep(0.1)


@workflow.defn
class AgentInAGroup:
    """Lets the agent work in a task group, beside an activity where the message says so."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Work in a group."""
        async with task_group() as outer, task_group() as group:
            outer.create_task(self._watch())
            group.create_task(self.task.run_agent())

    async def _watch(self) -> None:
        if "watched" in self.task.text:
            await workflow.execute_activity(
                watch,
                start_to_close_timeout=timedelta(minutes=1),
                heartbeat_timeout=timedelta(seconds=5),
                cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            )


def task_group() -> Any:
    """Return an ``asyncio.TaskGroup``, which Python 3.10 does not have."""
    return vars(asyncio)["TaskGroup"]()
