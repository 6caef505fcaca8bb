"""How many events a task leaves in its history; Temporal bills, limits and replays by them."""

from __future__ import annotations

import asyncio

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.types import SubscribeToTaskRequest, Task, TaskState
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from benchmarks.bars import Reading, Readings
from benchmarks.effort import Effort
from benchmarks.stage import Stage, send

_SUBSCRIBERS = 20
_CHUNKS = 6
# The signal that carries a batch, as docs/task-log.md names it.
_BATCH_SIGNAL = "a2a_events"
# Longer than a batch is collected, so that every chunk is a batch of its own.
_GAP = 0.15


async def measure(stage: Stage, _: Effort) -> Readings:
    texts = ["answer", f"stream {_CHUNKS} {_GAP} 0", f"stream {3 * _CHUNKS} {_GAP} 0"]
    # Events are counted, not timed, so all tasks may run at once.
    subscribers, (one_turn, short, long) = await asyncio.gather(
        _subscribers(stage),
        asyncio.gather(*(_history_when_closed(stage, text) for text in texts)),
    )
    yield "history-one-turn", Reading(len(one_turn))
    # The difference of two streams, so that only what a further batch costs is counted.
    batches = _batches(long) - _batches(short)
    note = f"{2 * _CHUNKS} more chunks, {_GAP * 1e3:.0f} ms apart, made {batches} more batches"
    yield "history-per-batch", Reading((len(long) - len(short)) / batches, note=note)
    yield "history-per-subscriber", subscribers


async def _subscribers(stage: Stage) -> Reading:
    """Open many streams on a parked task, and see what they wrote."""
    task = await send(stage.handler, "ask")
    assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED, task
    before = await _settled(stage, task)
    opened = [asyncio.Event() for _ in range(_SUBSCRIBERS)]
    handlers = [stage.another_handler() for _ in opened]

    async def subscribe(handler: RequestHandler, first: asyncio.Event) -> None:
        request = SubscribeToTaskRequest(id=task.id)
        async for _ in handler.on_subscribe_to_task(request, ServerCallContext()):
            first.set()

    readers = [
        asyncio.create_task(subscribe(handler, first))
        for handler, first in zip(handlers, opened, strict=True)
    ]
    await asyncio.wait_for(asyncio.gather(*(event.wait() for event in opened)), 60)
    after = await _settled(stage, task)
    await send(stage.handler, "yes", task_id=task.id)
    await asyncio.wait_for(asyncio.gather(*readers), 60)
    for handler in handlers:
        await handler.aclose()
    return Reading(
        (after - before) / _SUBSCRIBERS, note=f"{_SUBSCRIBERS} handlers on one parked task"
    )


async def _settled(stage: Stage, task: Task) -> int:
    """Return the length of the history once nothing is added to it any more."""
    seen, length = -1, len(await _history(stage, task))
    while seen != length:
        await asyncio.sleep(0.5)
        seen, length = length, len(await _history(stage, task))
    return length


async def _history_when_closed(stage: Stage, text: str) -> list[HistoryEvent]:
    task = await send(stage.handler, text)
    await asyncio.wait_for(stage.client.get_workflow_handle(task.id).result(), 60)
    return await _history(stage, task)


async def _history(stage: Stage, task: Task) -> list[HistoryEvent]:
    handle = stage.client.get_workflow_handle(task.id)
    return [event async for event in handle.fetch_history_events()]


def _batches(history: list[HistoryEvent]) -> int:
    return sum(
        event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
        and event.workflow_execution_signaled_event_attributes.signal_name == _BATCH_SIGNAL
        for event in history
    )
