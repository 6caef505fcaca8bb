"""A workflow that emits more than Temporal takes."""

from typing import Any

from temporalio import workflow

from a2a_temporal import PublicError
from a2a_temporal.workflow import TaskRun, TaskStart

TOO_MUCH = 3_000_000
MUCH = 100_000


@workflow.defn
class Big:
    """Emits too much, or asks a question, as its message says."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> Any:
        """Emit it, or ask for it."""
        much = "x" * TOO_MUCH
        if self.task.text == "artifact":
            self.task.add_artifact(much)
        elif self.task.text == "status":
            self.task.working(much)
        elif self.task.text == "approval":
            await self.task.require_approval("Read this?", details={"text": much})
        elif self.task.text == "question":
            return await self.task.require_input("Which colour?")
        elif self.task.text == "much to read":
            details = {"text": "x" * MUCH}
            return (await self.task.require_approval("Read this?", details=details)).outcome
        elif self.task.text == "less":
            try:
                await self.task.require_approval("Read this?", details={"text": much})
            except PublicError:
                return (await self.task.require_approval("Read a summary?")).outcome
        return much
