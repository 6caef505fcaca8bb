"""Workflows that combine what the documentation shows one by one."""

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
