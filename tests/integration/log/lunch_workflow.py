"""What a user would write: plain imports, no list of modules to pass through, no `unsafe` block."""

from datetime import datetime, timedelta

import httpx
from a2a.types import Task, TaskState
from pydantic import BaseModel
from temporalio import workflow

from a2a_temporal.workflow import TaskRun, TaskStart


class Lunch(BaseModel):
    dish: str
    people: int = 2


@workflow.defn
class LunchWorkflow:
    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        if self.task.text == "what time is it":
            self.task.complete(datetime.now().isoformat())
        lunch = Lunch(dish=self.task.text)
        known: Task = self.task.task
        assert known.status.state == TaskState.TASK_STATE_SUBMITTED
        await workflow.sleep(timedelta(milliseconds=10))
        self.task.complete(f"{lunch.people} x {lunch.dish}, {httpx.URL('/lunch').path}")
