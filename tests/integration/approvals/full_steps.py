"""A workflow whose steps are as large as Temporal takes, or nearly."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow

from a2a_temporal.workflow import TaskRun, TaskStart


@activity.defn
async def measure(text: str) -> int:
    """Return how long a text is."""
    return len(text)


@workflow.defn
class FullSteps:
    """Does what its message says: a list of steps, such as ``artifact 2x900000; return 5``."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> Any:
        """Take the steps one after another."""
        if self.task.carried is not None:
            return len(str(self.task.carried))
        for step in self.task.text.split("; "):
            name, _, given = step.partition(" ")
            count, _, size = given.rpartition("x")
            much = "x" * int(size or 0)
            if name == "return":
                return much
            if name == "carry":
                self.task.continue_as_new(carried=much)
            for _ in range(int(count or 1)):
                await self._take(name, much)
        return None

    async def _take(self, name: str, much: str) -> None:
        if name == "artifact":
            self.task.add_artifact(much)
        elif name == "status":
            self.task.working(much)
        elif name == "complete":
            self.task.complete(much)
        elif name == "ask":
            await self.task.require_input("And then?")
        elif name == "call":
            await _measured(much)
        elif name == "calls":
            await asyncio.gather(*[_measured(much) for _ in range(3)])
        elif name == "raise":
            raise RuntimeError(much)
        elif name == "fail":
            self.task.fail(much)


def _measured(text: str) -> Coroutine[Any, Any, int]:
    limit = timedelta(seconds=10)
    return workflow.execute_activity(measure, text, start_to_close_timeout=limit)
