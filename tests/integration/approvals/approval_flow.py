"""A workflow that asks for the approval of a payment, with all a request can say."""

from datetime import timedelta

from pydantic import BaseModel, Field
from temporalio import workflow

from a2a_temporal.workflow import (
    Approve,
    Approvers,
    Escalate,
    OnTimeout,
    Reject,
    TaskRun,
    TaskStart,
)

DAY = timedelta(days=1)


class Payment(BaseModel):
    """What is approved."""

    payee: str
    amount: float = Field(gt=0)


RULES: dict[str, Approvers] = {
    "anyone": Approvers(),
    "star": Approvers("*"),
    "named": Approvers("ann", "bob"),
    "group": Approvers("finance"),
    "quorum": Approvers("finance", quorum=2),
    "four-eyes": Approvers(exclude_requester=True),
    "verified": Approvers("finance", verified_only=True),
}
ENDINGS: dict[str, OnTimeout | None] = {
    "expire": None,
    "reject": Reject(),
    "approve": Approve(),
    "escalate": Escalate("cfo", timeout=2 * DAY),
    "escalate-reject": Escalate("cfo", then=Reject()),
    "escalate-twice": Escalate("cfo", then=Escalate("ceo", then=Approve())),
}


@workflow.defn
class PaymentApproval:
    """Pay after approval. The message names a rule, and what happens when time runs out."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str | None:
        """Ask, then say what was decided."""
        rule, _, ending = self.task.text.partition(" ")
        decision = await self.task.require_approval(
            "Pay 5 to X?",
            details=Payment(payee="X", amount=5),
            approvers=RULES[rule],
            timeout=3 * DAY if ending else None,
            remind_every=DAY if ending else None,
            on_timeout=ENDINGS[ending or "expire"],
        )
        if not decision:
            self.task.reject(f"Not paid: {decision.outcome}. {decision.comment}".strip())
            return None
        by = ", ".join(decision.decided_by) or decision.outcome
        return f"paid {decision.details.amount:g} to {decision.details.payee} ({by})"
