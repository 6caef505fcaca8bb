"""However often an agent reports, its turn fits into one history: 10,000 signals, 51,200 events."""

import asyncio
from datetime import timedelta
from typing import Any

from a2a.types.a2a_pb2 import (
    Artifact,
    Message,
    Part,
    Role,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)

from a2a_temporal._worker.agent.event_queue import PublishingQueue
from a2a_temporal._worker.agent.sending import Pace
from tests.support.waiting import eventually

INTERVAL = timedelta(milliseconds=50)
LATE = 9000
"""So many batches later the pause between two is minutes long."""

LARGE = "x" * 66_000
"""A chunk that makes a batch by itself and waits for nothing."""


class _Log:
    """Takes what a queue sends."""

    def __init__(self, *, sequence: int = 0) -> None:
        self.batches: list[list[dict[str, Any]]] = []
        self.queue = PublishingQueue(
            self._take,
            turn=1,
            attempt=1,
            sequence=sequence,
            pace=Pace(INTERVAL, sent=sequence),
            limit_bytes=None,
        )

    async def _take(self, entry: dict[str, Any]) -> None:
        self.batches.append(entry["events"])


def _status(state: TaskState = TaskState.TASK_STATE_WORKING, text: str = "") -> Any:
    status = TaskStatus(state=state)
    if text:
        parts = [Part(text=text)]
        status.message.CopyFrom(Message(message_id=text, role=Role.ROLE_AGENT, parts=parts))
    return TaskStatusUpdateEvent(status=status)


def _chunk(text: str = "x") -> TaskArtifactUpdateEvent:
    return TaskArtifactUpdateEvent(artifact=Artifact(artifact_id="a", parts=[Part(text=text)]))


async def _report(log: _Log, times: int) -> None:
    for number in range(times):
        await log.queue.enqueue_event(_status(text=f"step {number}"))
        await asyncio.sleep(0.002)


async def _send_large_batches(log: _Log, batches: int) -> None:
    for number in range(1, batches + 1):
        await log.queue.enqueue_event(_chunk(LARGE))
        await eventually(lambda number=number: len(log.batches) == number, within=5, every=0)


async def _steps() -> None:
    """Let the event loop make some steps, in which what is urgent leaves."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_progress_late_in_a_long_turn_travels_in_batches() -> None:
    log = _Log(sequence=LATE)
    await _report(log, 100)
    assert len(log.batches) < 10, f"100 reports in {len(log.batches)} batches"

    await log.queue.finish(done=True)
    assert sum(len(batch) for batch in log.batches) == 100


async def test_progress_that_is_no_quicker_than_the_interval_leaves_at_once() -> None:
    log = _Log()
    for number in range(3):
        await log.queue.enqueue_event(_status(text=f"step {number}"))
        await eventually(
            lambda number=number: len(log.batches) == number + 1, within=0.04, every=0.001
        )
    await log.queue.finish(done=True)


async def test_a_change_of_state_never_waits_and_takes_along_what_does() -> None:
    log = _Log(sequence=LATE)
    await _report(log, 20)
    await log.queue.enqueue_event(_chunk())
    await log.queue.enqueue_event(_status(TaskState.TASK_STATE_INPUT_REQUIRED))
    await eventually(lambda: sum(map(len, log.batches)) == 22, within=1)
    await log.queue.finish(done=True)


async def test_large_batches_take_nothing_from_what_changes_of_state_may_hurry() -> None:
    log = _Log(sequence=LATE)
    await _send_large_batches(log, 1100)
    await log.queue.enqueue_event(_status(TaskState.TASK_STATE_INPUT_REQUIRED))
    await eventually(lambda: len(log.batches) == 1101, within=1)
    await log.queue.finish(done=True)


async def test_a_change_of_state_leaves_at_once_behind_more_than_one_entry_holds() -> None:
    log = _Log(sequence=LATE)
    await _send_large_batches(log, 10)  # which use up the time that was saved
    for _ in range(7):
        await log.queue.enqueue_event(_chunk(LARGE))
    await log.queue.enqueue_event(_chunk("x" * 40_000))
    await log.queue.enqueue_event(_status(TaskState.TASK_STATE_INPUT_REQUIRED))
    await eventually(lambda: sum(map(len, log.batches)) == 10 + 9, within=1)
    assert len(log.batches) == 10 + 2
    await log.queue.finish(done=True)


async def test_a_day_of_reports_fits_into_one_history() -> None:
    pace = Pace(INTERVAL)
    clock, batches = 0.0, 0
    while clock < timedelta(days=1).total_seconds():
        clock += pace.pause_after(batches)
        batches += 1
    assert batches < 7_100


async def test_changes_of_state_that_never_end_are_paced_as_well() -> None:
    log = _Log(sequence=LATE)
    states = (TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_SUBMITTED)
    for number in range(3000):
        await log.queue.enqueue_event(_status(states[number % 2]))
        await _steps()
    assert 900 < len(log.batches) < 1100
    await log.queue.finish(done=True)
    assert sum(map(len, log.batches)) == 3000
