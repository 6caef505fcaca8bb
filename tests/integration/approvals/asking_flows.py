"""Workflows that ask in other ways than for one approval, and those that break."""

import asyncio
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

from a2a_temporal import PublicError
from a2a_temporal.activity import Publisher
from a2a_temporal.workflow import Reject, TaskRun, TaskStart, text_of

SECRET = "hunter2-SECRET"


@workflow.defn
class TwoAtOnce:
    """Two approvals and a question at the same time."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Ask all, wait for all."""
        one, two, name = await asyncio.gather(
            self.task.require_approval("One?"),
            self.task.require_approval("Two?"),
            self.task.require_input("Your name?"),
        )
        return f"{one.outcome} {two.outcome} {name}"


@workflow.defn
class AsksLater:
    """Works for a second, then asks; answers to that have a second as well."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Work, ask."""
        second = timedelta(seconds=1)
        self.task.working("Working")
        await workflow.sleep(second)
        if self.task.text == "in time":
            decision = await self.task.require_approval("Pay?", timeout=second, on_timeout=Reject())
        else:
            decision = await self.task.require_approval("Pay?")
        return decision.outcome


@workflow.defn
class RemindsEveryHour:
    """Waits for as long as it takes, and does not let anybody forget it."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Ask, remind."""
        decision = await self.task.require_approval("Pay?", remind_every=timedelta(hours=1))
        return decision.outcome


@workflow.defn
class TwoInARow:
    """Two approvals, the second right after the first."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Ask for A, then for B."""
        done = [step for step in ("A", "B") if await self.task.require_approval(f"Do {step}?")]
        return " ".join(done) or "nothing"


@workflow.defn
class FirstAnswerWins:
    """Gives a question up when its own clock says so."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Ask, give up, go on for a while."""
        try:
            return await asyncio.wait_for(self.task.require_input("Colour?"), 3600)
        except asyncio.TimeoutError:
            await workflow.sleep(timedelta(hours=1))
            return "grey"


@activity.defn
async def log_in(task_id: str) -> int:
    """Use the credential that somebody has left in the vault; returns its length."""
    credential = (Path(os.environ["TEST_VAULT"]) / task_id).read_text(encoding="utf-8")
    return len(credential)


@workflow.defn
class NeedsCredential:
    """AUTH_REQUIRED in the middle."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Wait for the other door."""
        message = await self.task.require_auth("Open the other door.")
        if message is not None:
            return "by message"
        length = await workflow.execute_activity(
            log_in, self.task.id, start_to_close_timeout=timedelta(seconds=10)
        )
        self.task.working("It is open.")
        return f"out of band, {length} characters"


@workflow.defn
class Counts:
    """Continues as new with every message, and remembers."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Count approvals across runs."""
        count: int = (self.task.carried or {"count": 0})["count"]
        decision = await self.task.require_approval(f"Number {count + 1}?")
        if decision and count < 2:
            self.task.add_artifact(f"{count}", artifact_id="count", append=True)
            self.task.continue_as_new({"count": count + 1})
        return f"{count} before, then {decision.outcome}"


class OddTimeoutError(asyncio.TimeoutError):
    """A subclass of what frameworks catch to mean something of their own."""


class OddBaseError(BaseException):
    """Not an Exception."""


class Group(Exception):
    """Holds others."""


class MuteError(Exception):
    """Has no text: making it raises."""

    def __str__(self) -> str:
        raise AttributeError("detail")


KINDS: dict[str, Callable[[str], BaseException]] = {
    "value": ValueError,
    "timeout": OddTimeoutError,
    "base": OddBaseError,
    "exit": SystemExit,
    "interrupt": KeyboardInterrupt,
    "canceled": asyncio.CancelledError,
    "application": ApplicationError,
    "group": Group,
    "mute": MuteError,
    "no-unicode": lambda text: ValueError(f"{text} caf\udce9"),
    "endless": lambda text: ValueError(text * 300_000),
}


@workflow.defn
class Breaks:
    """Fails in the way that its message names."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> Any:
        """Break."""
        kind = self.task.text
        if kind in KINDS:
            raise KINDS[kind](SECRET)
        if kind == "public":
            raise PublicError("The quota is used up.")
        if kind == "public-no-unicode":
            raise PublicError("The quota of caf\udce9 is used up.")
        if kind == "result":
            return object()
        if kind == "nan":
            return float("nan")
        if kind == "complete-then-raise":
            self.task.complete("done")
            raise ValueError(SECRET)
        await workflow.wait_condition(lambda: False)
        return None

    @workflow.signal
    async def boom(self) -> None:
        """Raise in a handler."""
        raise ValueError(SECRET)

    @workflow.signal
    async def complete_then_boom(self) -> None:
        """Raise in a handler after the end."""
        self.task.complete("done")
        raise ValueError(SECRET)

    @workflow.update
    async def update(self) -> None:
        """Raise in an update."""
        raise ValueError("an update that fails")

    @workflow.update
    async def update_without_a_text(self) -> None:
        """Raise in an update what cannot be told."""
        raise MuteError


@activity.defn
async def write_report(chunks: int) -> str:
    """Publish chunks; the first attempt dies after two of them."""
    async with Publisher() as task:
        await task.working("Writing")
        for number in range(chunks):
            if number == 2 and activity.info().attempt == 1:
                await asyncio.sleep(0.3)  # the chunks leave
                raise RuntimeError("the first attempt dies")
            await task.add_artifact(f"{number};", artifact_id="report", append=number > 0)
    return "written"


@workflow.defn
class AsksAndWorks:
    """Works, and reports it, while people are asked."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Do both at once."""
        await asyncio.gather(self.task.require_approval("Publish it?"), self._work())

    async def _work(self) -> None:
        await workflow.sleep(1)
        await workflow.execute_activity(
            write_report,
            4,
            start_to_close_timeout=timedelta(seconds=10),
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10)),
        )
        self.task.working("The report is written")


@workflow.defn
class Reports:
    """Publishes from an activity."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Let the activity write."""
        await workflow.execute_activity(
            write_report, 6, start_to_close_timeout=timedelta(seconds=20)
        )


@workflow.defn
class Returns:
    """Returns what its message names."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> Any:
        """Return it."""
        return self.task.data


@workflow.defn
class Diary:
    """Writes down each message, each in a run of its own."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Write until told to stop."""
        async for message in self.task.messages():
            text = text_of(message)
            self.task.add_artifact(f"{text};", artifact_id="diary", append=True)
            if text == "stop":
                return
            self.task.continue_as_new()


@workflow.defn
class AsksTooLate:
    """Asks after its task has ended."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """End, then ask."""
        self.task.complete("done")
        await self.task.require_input("Are you still there?")
