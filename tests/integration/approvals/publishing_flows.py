"""A workflow whose activity publishes, and fails before it has published all."""

from datetime import timedelta

from temporalio import activity, workflow
from temporalio.common import RetryPolicy

from a2a_temporal.activity import Publisher
from a2a_temporal.workflow import TaskRun, TaskStart

attempts: list[str] = []
"""The attempts at activities that were made, by the ids of their tasks."""


@activity.defn
async def report(most: int) -> None:
    """Publish half a report, in the last attempt the whole."""
    task_id = str(activity.info().workflow_id)
    attempts.append(task_id)
    number = attempts.count(task_id)
    async with Publisher() as task:
        await task.add_artifact(f"{number}: half", artifact_id="report", append=True)
    if number < most:
        raise RuntimeError("once more")
    async with Publisher() as task:
        await task.add_artifact(" whole", artifact_id="report", append=True)


@workflow.defn
class Reports:
    """Has a report made, in as many attempts as its message says."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Have it made."""
        await workflow.execute_activity(
            report,
            int(self.task.text),
            start_to_close_timeout=timedelta(seconds=60),
            retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_attempts=5),
        )
