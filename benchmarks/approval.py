"""The workflow whose approval is traced: one question, one answer."""

from __future__ import annotations

from temporalio import workflow

from a2a_temporal.workflow import Approvers, TaskRun, TaskStart

APPROVERS = "finance"


@workflow.defn
class Payment:
    """Ask once, then pay."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        approved = await self.task.require_approval("Pay 5 to X?", approvers=Approvers(APPROVERS))
        return "paid" if approved else "not paid"
