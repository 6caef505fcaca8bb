"""A workflow that pays by activities of every kind; what they did stands in a ledger."""

import asyncio
import time
from datetime import timedelta

from temporalio import activity, workflow

from a2a_temporal.activity import Publisher
from a2a_temporal.workflow import TaskRun, TaskStart

LEDGER: list[str] = []
"""What activities have done, in order: a word, and the id of the workflow."""

_STEP = 0.1


def _note(word: str) -> None:
    LEDGER.append(f"{word} {activity.info().workflow_id}")


def _dallies() -> None:
    for _ in range(30):
        time.sleep(_STEP)  # noqa: TID251 - a thread that cannot be interrupted is what is tried
        _note("works")
    _note("paid")


@activity.defn
async def pay() -> None:
    """Work for three seconds, then pay; nothing in here knows of heartbeats."""
    try:
        for _ in range(30):
            await asyncio.sleep(_STEP)
            _note("works")
        _note("paid")
    finally:
        _note("over")


@activity.defn
async def publish() -> None:
    """Do the same, and publish."""
    async with Publisher() as task:
        await task.working("Pays")
        await pay()


@activity.defn
async def obstinate() -> None:
    """Complete in spite of a cancel."""
    _note("works")
    try:
        await asyncio.sleep(3)
    except asyncio.CancelledError:
        await asyncio.sleep(0.5)
    _note("over")


@activity.defn
async def in_thread() -> None:
    """Work in a thread, which is over when this is."""
    working = asyncio.create_task(asyncio.to_thread(_dallies))
    try:
        await asyncio.shield(working)
    finally:
        await working
        _note("over")


@activity.defn
async def ship() -> None:
    """Do what is done after the payment."""
    _note("shipped")


ACTIVITIES = (pay, publish, obstinate, in_thread, ship)
_KINDS = {each.__name__: each for each in ACTIVITIES}
_LIMIT = timedelta(seconds=60)


@workflow.defn
class Pays:
    """Pays as its message says: a kind, or ``local``, ``beside``, ``child``, ``child_of_two``."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Pay, then ship."""
        match self.task.text:
            case "local":
                await workflow.execute_local_activity(pay, start_to_close_timeout=_LIMIT)
            case "beside":
                workflow.start_activity(pay, start_to_close_timeout=_LIMIT)
                await workflow.sleep(30)
            case "child":
                await workflow.execute_child_workflow(
                    PaysAsChild.run, id=f"pays-for-{self.task.id}"
                )
            case "child_of_two":
                await workflow.execute_child_workflow(
                    PaysTwice.run, id=f"pays-twice-for-{self.task.id}"
                )
            case kind:
                await workflow.execute_activity(_KINDS[kind], start_to_close_timeout=_LIMIT)
        await workflow.execute_activity(ship, start_to_close_timeout=_LIMIT)


@workflow.defn
class PaysAsChild:
    """Pays for another workflow; it is no task itself."""

    @workflow.run
    async def run(self) -> None:
        """Pay; a cancel of this waits until that is over."""
        await workflow.execute_activity(
            pay,
            start_to_close_timeout=_LIMIT,
            heartbeat_timeout=_LIMIT,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )


@workflow.defn
class PaysTwice:
    """Pays for another workflow, and says nothing of cancels."""

    @workflow.run
    async def run(self) -> None:
        """Pay beside, and pay."""
        workflow.start_activity(pay, start_to_close_timeout=_LIMIT)
        await workflow.execute_activity(pay, start_to_close_timeout=_LIMIT)
