"""GetTask of a finished task beside Temporal's own ``describe`` of its workflow."""

from __future__ import annotations

import asyncio

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.types import GetTaskRequest, Task, TaskState

from benchmarks.bars import Reading, Readings
from benchmarks.effort import Effort
from benchmarks.stage import Stage, send
from benchmarks.stats import p50, timed

_AT_ONCE = 10


async def measure(stage: Stage, effort: Effort) -> Readings:
    tasks = await _finished(stage, effort.read_tasks)
    reader = stage.another_handler()
    await _get(reader, tasks.pop())
    first: list[float] = []
    again: list[float] = []
    described: list[float] = []
    for number, task in enumerate(tasks):
        handle = stage.client.get_workflow_handle(task.id)
        if number % 2:
            described.append(await timed(handle.describe))
        first.append(await timed(lambda task=task: _get(reader, task)))
        if not number % 2:
            described.append(await timed(handle.describe))
        again.append(await timed(lambda task=task: _get(reader, task)))
    await reader.aclose()
    note = f"read again {p50(again):.1f} ms"
    yield "get-vs-describe", Reading(p50(first), p50(described), note=note)


async def _finished(stage: Stage, count: int) -> list[Task]:
    tasks: list[Task] = []
    for _ in range(0, count, _AT_ONCE):
        tasks += await asyncio.gather(*(send(stage.handler, "answer") for _ in range(_AT_ONCE)))
    await asyncio.gather(*(stage.client.get_workflow_handle(task.id).result() for task in tasks))
    return tasks


async def _get(handler: RequestHandler, task: Task) -> None:
    found = await handler.on_get_task(GetTaskRequest(id=task.id), ServerCallContext())
    assert found is not None
    assert found.status.state == TaskState.TASK_STATE_COMPLETED, found
