"""Expense approval: two people of finance approve, or after a time-out the CFO; one payment.

Send ``42.50 EUR to Blue Taxi for the airport ride``.
"""

from datetime import timedelta

from temporalio import workflow

from a2a_temporal.workflow import Approvers, Escalate, Reject, TaskRun, TaskStart

with workflow.unsafe.imports_passed_through():
    from a2a.types import AgentCapabilities, AgentCard, AgentSkill

    from a2a_temporal import Agent
    from activities.expenses import pay, read_expense

SOON = timedelta(seconds=30)
DAY = timedelta(days=1)  # without a limit, a payment that fails is tried again for ever


@workflow.defn
class ExpenseApproval:
    """Pay an expense after two approvals by finance; after three days the CFO decides."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Read the expense, ask for approval, pay."""
        expense = await workflow.execute_activity(
            read_expense, args=[self.task.text, self.task.data], schedule_to_close_timeout=SOON
        )
        decision = await self.task.require_approval(
            f"Pay {expense}?",
            details=expense,
            approvers=Approvers("finance", quorum=2, exclude_requester=True),
            timeout=3 * DAY,
            remind_every=DAY,
            on_timeout=Escalate("cfo", timeout=2 * DAY, then=Reject()),
        )
        if not decision:
            self.task.reject(f"Not paid: {decision.comment or 'nobody agreed in time'}.")
            return
        self.task.working(f"Paying {decision.details}")
        receipt = await workflow.execute_activity(
            pay,
            args=[decision.details, self.task.idempotency_key("payment")],
            start_to_close_timeout=SOON,
            schedule_to_close_timeout=DAY,
        )
        self.task.add_artifact(f"{receipt}: {decision.details}", name="receipt")
        self.task.complete(f"Paid. Approved by {' and '.join(decision.decided_by)}.")


agent = Agent(
    card=AgentCard(
        name="Expenses",
        description="Pays expenses that two people of finance have approved.",
        version="1.0.0",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain"],
        skills=[
            AgentSkill(
                id="pay",
                name="Pay an expense",
                description="Say how much, to whom and what for.",
                tags=["expenses", "approval"],
                examples=["42.50 EUR to Blue Taxi for the airport ride"],
            )
        ],
    ),
    workflow=ExpenseApproval,
    activities=[read_expense, pay],
)
