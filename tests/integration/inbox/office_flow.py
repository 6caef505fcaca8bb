"""One workflow that asks whatever the message says: JSON with the request's properties."""

import json
from datetime import timedelta
from typing import Any

from pydantic import BaseModel, Field
from temporalio import workflow

from a2a_temporal.workflow import Approvers, TaskRun, TaskStart


class Payment(BaseModel):
    """What is approved."""

    payee: str
    amount: float = Field(gt=0)
    note: str = ""


@workflow.defn
class Office:
    """Asks for an approval, a choice or a credential."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Ask, then say what came of it."""
        wish: dict[str, Any] = json.loads(self.task.text)
        self.task.working("Looking into it.")
        if "artifact" in wish:
            self.task.add_artifact(wish["artifact"], name="Evidence")
        if "choices" in wish:
            return "chosen: " + await self.task.require_input("Which?", choices=wish["choices"])
        if "auth" in wish:
            await self.task.require_auth("Connect the bank")
            return "connected"
        decision = await self.task.require_approval(
            wish.get("summary", "Pay 5 to X?"),
            details=Payment(payee="X", amount=5),
            approvers=Approvers(
                *wish["approvers"],
                quorum=wish.get("quorum", 1),
                exclude_requester=wish.get("four_eyes", False),
            ),
            timeout=timedelta(days=2),
        )
        if not decision:
            self.task.reject(f"No: {decision.comment}")
            return ""
        return f"paid {decision.details.amount:g} to {decision.details.payee}"
