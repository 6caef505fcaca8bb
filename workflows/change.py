"""Production change: a second person approves, and an unconfirmed change is rolled back.

Send ``shop 2.4.1 faster search``.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

from a2a_temporal.workflow import Approvers, Reject, TaskRun, TaskStart

with workflow.unsafe.imports_passed_through():
    from a2a.types import AgentCapabilities, AgentCard, AgentSkill

    from a2a_temporal import Agent
    from activities.changes import Change, deploy, read_change, roll_back

Act = Callable[[Change, str], Awaitable[str]]
SOON = timedelta(minutes=5)
TRIES = RetryPolicy(maximum_attempts=10)  # what fails is tried again for ever otherwise
WATCHED = timedelta(minutes=30)
OPERATORS = Approvers("operations", exclude_requester=True, verified_only=True)
WATCHERS = Approvers("operations", verified_only=True)


@workflow.defn
class ProductionChange:
    """Apply a change that a second person has approved; roll it back unless it is confirmed."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Ask for approval, wait for the change window, deploy, and ask for confirmation."""
        change = await workflow.execute_activity(
            read_change, args=[self.task.text, self.task.data], schedule_to_close_timeout=SOON
        )
        decision = await self.task.require_approval(
            f"Deploy {change}?", details=change, approvers=OPERATORS, timeout=timedelta(days=7)
        )
        if not decision:
            return self.task.reject(f"Not deployed: {decision.comment or 'it was declined'}.")
        await self.window(decision.details)
        await self.act(deploy, decision.details)
        question = f"{decision.details} is live. Is it healthy?"
        healthy = await self.task.require_approval(
            question, approvers=WATCHERS, timeout=WATCHED, on_timeout=Reject()
        )
        if healthy:
            return self.task.complete(f"{decision.details} stays.")
        await self.act(roll_back, decision.details)
        return self.task.fail(f"{decision.details} was taken back: {healthy.outcome}.")

    async def window(self, change: Change) -> None:
        """Wait until the change window opens."""
        if change.not_before is not None and change.not_before > workflow.now():
            self.task.working(f"Waiting for the change window at {change.not_before:%F %H:%M %Z}")
            await workflow.sleep(change.not_before - workflow.now())

    async def act(self, what: Act, change: Change) -> None:
        """Run an activity once and publish its log line."""
        key = self.task.idempotency_key(what.__name__)
        log = await workflow.execute_activity(
            what, args=[change, key], start_to_close_timeout=SOON, retry_policy=TRIES
        )
        self.task.add_artifact(f"{log}\n", name="log", artifact_id="log", append=True)


agent = Agent(
    card=AgentCard(
        name="Changes",
        description="Brings changes to production that a second person has approved.",
        version="1.0.0",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain"],
        skills=[
            AgentSkill(
                id="deploy",
                name="Deploy a version",
                description="Name the service, the version and the reason.",
                tags=["operations", "approval"],
                examples=["shop 2.4.1 faster search"],
            )
        ],
    ),
    workflow=ProductionChange,
    activities=[read_change, deploy, roll_back],
)
