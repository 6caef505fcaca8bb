"""A workflow whose only activity is written by the test."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

from a2a_temporal.workflow import TaskRun, TaskStart

WRITTEN = "written"


@workflow.defn
class RunsOneActivity:
    """Runs it, in as many attempts as its message says at most."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Run it."""
        await workflow.execute_activity(
            WRITTEN,
            start_to_close_timeout=timedelta(seconds=120),
            heartbeat_timeout=timedelta(seconds=60),
            retry_policy=RetryPolicy(
                initial_interval=timedelta(seconds=1), maximum_attempts=int(self.task.text)
            ),
        )
