"""A workflow that pays several times, each time after an approval: `3 rent`."""

from datetime import timedelta

from temporalio import workflow

from a2a_temporal.workflow import TaskRun, TaskStart

PAY = "chaos_pay"


@workflow.defn
class Payments:
    """Pay a number of times; every second payment is followed by a new run."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Ask and pay, again and again."""
        number, _, name = self.task.text.partition(" ")
        for index in range(int(self.task.carried or 0), int(number)):
            step = f"{name}-{index}"
            decision = await self.task.require_approval(f"Pay {step}?", details={"step": step})
            if not decision:
                self.task.reject(f"Not paid: {step}")
                return
            await workflow.execute_activity(
                PAY,
                args=[self.task.id, step, self.task.idempotency_key(step)],
                start_to_close_timeout=timedelta(seconds=5),
            )
            self.task.add_artifact(step, name="payment", artifact_id=step)
            if index % 2 and index + 1 < int(number):
                self.task.continue_as_new(index + 1)
