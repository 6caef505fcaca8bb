"""How long an event is on its way from the agent that publishes it to those who read it."""

from __future__ import annotations

import asyncio
import time

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.types import SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent

from benchmarks.agent import published_at
from benchmarks.anchors import streams
from benchmarks.bars import Reading, Readings
from benchmarks.effort import Effort
from benchmarks.processes import Child, running
from benchmarks.stage import TASK_QUEUE, Stage, send
from benchmarks.stats import p50, p95

_GAP = 0.05
_WITHIN = 120.0


async def measure_streams(stage: Stage, effort: Effort) -> Readings:
    """Compare with workflow_streams."""
    publication = streams.Publication(effort.stream_events, _GAP, effort.stream_delay)
    ours: dict[int, list[float]] = {1: [], 20: []}
    theirs: dict[int, list[float]] = {1: [], 20: []}
    for _ in range(effort.stream_rounds):
        for subscribers in (1, 20):
            ours[subscribers] += await _ours(stage, effort, subscribers=subscribers)
            theirs[subscribers] += await asyncio.wait_for(
                streams.latencies(
                    stage.client, publication, task_queue=TASK_QUEUE, subscribers=subscribers
                ),
                _WITHIN,
            )
    for count in (1, 20):
        yield f"read-{count}-vs-streams", _reading(ours[count], theirs[count])


async def measure_replica(stage: Stage, effort: Effort) -> Readings:
    """Compare with the SDK's cluster, whose agent runs in another process too."""
    ours: list[float] = []
    theirs: list[float] = []
    async with running("replica", str(stage.cluster_database), logs=stage.directory) as replica:
        for _ in range(effort.stream_rounds):
            ours += await _ours(stage, effort, subscribers=1)
            theirs += await _cluster(stage, replica, effort)
    yield "read-elsewhere-vs-cluster", _reading(ours, theirs)


async def _ours(stage: Stage, effort: Effort, *, subscribers: int) -> list[float]:
    task = await send(stage.handler, _stream(effort), at_once=True)
    # The reader is a handler that had no part in sending: any replica.
    reader = stage.another_handler()
    found = await asyncio.gather(
        *(_read(reader, task.id, effort.stream_events) for _ in range(subscribers))
    )
    await reader.aclose()
    return [latency for one in found for latency in one]


async def _cluster(stage: Stage, replica: Child, effort: Effort) -> list[float]:
    task_id = (await replica.ask(text=_stream(effort)))["task"]
    return await _read(stage.cluster, task_id, effort.stream_events)


async def _read(handler: RequestHandler, task_id: str, events: int) -> list[float]:
    async def read() -> list[float]:
        found: list[float] = []
        seen = 0
        request = SubscribeToTaskRequest(id=task_id)
        async for event in handler.on_subscribe_to_task(request, ServerCallContext()):
            now = time.time()
            if isinstance(event, TaskArtifactUpdateEvent):
                found += [(now - at) * 1e3 for at in published_at(event)]
            elif isinstance(event, Task):
                # What was published before the subscription stands in the snapshot.
                seen = sum(len(artifact.parts) for artifact in event.artifacts)
        if seen + len(found) != events:
            raise RuntimeError(f"{seen} + {len(found)} of {events} events reached a subscriber.")
        return found

    return await asyncio.wait_for(read(), _WITHIN)


def _stream(effort: Effort) -> str:
    return f"stream {effort.stream_events} {_GAP} {effort.stream_delay}"


def _reading(ours: list[float], theirs: list[float]) -> Reading:
    return Reading(p50(ours), p50(theirs), note=f"p95 {p95(ours):.0f} against {p95(theirs):.0f} ms")
