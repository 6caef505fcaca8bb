"""The workflow around the executor: commands that need orchestrating code are handled here.

Every other message is the executor's: `TaskRun.run_agent()`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, cast

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from a2a_temporal.workflow import Approvers, TaskRun, TaskStart

EFFECT_ACTIVITY = "bench_effect"
SECRET = "hunter2-SECRET"


@workflow.defn
class BenchTask:
    """One task of the bench agent."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> Any:
        """Handle the command, or let the executor do it."""
        name, _, arguments = self.task.text.strip().partition(" ")
        if name in FLOWS and ";" not in arguments:
            return await FLOWS[name](self, arguments.strip())
        return await self.task.run_agent()

    @workflow.signal
    async def boom(self) -> None:
        """Raise in a message handler."""
        raise ValueError(f"handler failed: {SECRET}")

    async def approve(self, arguments: str) -> None:
        """`approve x`: effect x, but only after a yes."""
        if await self._approved(arguments):
            self.task.complete(f"Done: {arguments}")

    async def approve_twice(self, arguments: str) -> None:
        """`approve2 a b`: effect a after its yes, then effect b after its own."""
        for step in arguments.split():
            if not await self._approved(step):
                return
        self.task.complete(f"Done: {arguments}")

    async def approve_within(self, arguments: str) -> None:
        """`approve-within s x`: the same as `approve`, FAILED after s seconds without an answer."""
        seconds, _, step = arguments.partition(" ")
        if await self._approved(step, timeout=timedelta(seconds=float(seconds))):
            self.task.complete(f"Done: {step}")

    async def boom_in_workflow(self, kind: str) -> Any:
        """`boom-wf [kind]`: an exception of some kind in orchestrating code."""
        self.task.working("about to fail")
        if kind == "result":
            return object()
        if kind == "handler":
            await asyncio.sleep(3600)
        raise ODD_EXCEPTIONS.get(kind, ValueError)(f"login failed: password={SECRET}")

    async def child(self, text: str) -> None:
        """`child x`: a child workflow echoes x."""
        self.task.working("A child works on it.")
        echoed = await workflow.execute_child_workflow(
            BenchChild.run, text or "hello", id=f"{self.task.id}/child"
        )
        self.task.add_artifact(echoed, name="child")

    async def _approved(self, step: str, *, timeout: timedelta | None = None) -> bool:
        owner = self.task.owner or "*"
        decision = await self.task.require_approval(
            f"Do {step}?",
            details={"step": step},
            approvers=Approvers(owner, "carol"),
            timeout=timeout,
        )
        if not decision:
            self.task.reject(f"Not done: {decision.comment or 'the answer was no'}.")
            return False
        self.task.working(f"Doing {step}")
        await workflow.execute_activity(
            EFFECT_ACTIVITY,
            args=[self.task.id, step, self.task.idempotency_key(step)],
            start_to_close_timeout=timedelta(seconds=5),
        )
        return True


@workflow.defn
class BenchChild:
    """A child that knows nothing of A2A."""

    @workflow.run
    async def run(self, text: str) -> str:
        """Echo after a moment."""
        seconds, _, rest = text.partition(" ")
        if seconds.isdigit():
            await workflow.sleep(int(seconds))
        return rest or text


class OddTimeoutError(asyncio.TimeoutError):
    """A subclass of what frameworks catch to mean something of their own."""


class OddGroupError(Exception):
    """Holds other exceptions."""


class OddBaseError(BaseException):
    """Not an Exception."""


ODD_EXCEPTIONS: dict[str, Callable[[str], BaseException]] = {
    "timeout": OddTimeoutError,
    "group": OddGroupError,
    "base": OddBaseError,
    "exit": SystemExit,
    "interrupt": KeyboardInterrupt,
    "canceled": asyncio.CancelledError,
    "application": ApplicationError,
}

FLOWS: dict[str, Callable[[BenchTask, str], Awaitable[Any]]] = cast(
    "dict[str, Callable[[BenchTask, str], Awaitable[Any]]]",
    {
        "approve": BenchTask.approve,
        "approve2": BenchTask.approve_twice,
        "approve-within": BenchTask.approve_within,
        "boom-wf": BenchTask.boom_in_workflow,
        "child": BenchTask.child,
    },
)
WORKFLOWS = (BenchTask, BenchChild)
