"""How long after an event is in a task's log its push notification is at the receiver."""

from __future__ import annotations

import asyncio
import time

from a2a.server.context import ServerCallContext
from a2a.types import Task, TaskPushNotificationConfig
from google.protobuf.timestamp_pb2 import Timestamp

from a2a_temporal import HandlerOptions, TemporalRequestHandler
from benchmarks.agent import card, request
from benchmarks.bars import Reading, Readings
from benchmarks.effort import Effort
from benchmarks.stage import PUSH, TASK_QUEUE, Stage
from benchmarks.stats import p50, p95
from tests.support.hook import Hook, hook

_WITHIN = 60.0
_STREAM = "stream 10 0.1 0.2"


async def measure(stage: Stage, effort: Effort) -> Readings:
    """Look at the receiver of tasks that answer at once, and of one that streams."""
    latencies: list[float] = []
    async with hook() as receiver:
        handler = _pushing(stage)
        for _ in range(effort.push_rounds):
            latencies += await _told(stage, handler, receiver, "answer")
        latencies += await _told(stage, handler, receiver, _STREAM)
        await handler.aclose()
    note = f"{len(latencies)} notifications"
    yield "push-p50", Reading(p50(latencies), note=note, reduced=effort.quick)
    yield "push-p95", Reading(p95(latencies), note=note, reduced=effort.quick)


def _pushing(stage: Stage) -> TemporalRequestHandler:
    agent_card = card()
    agent_card.capabilities.push_notifications = True
    options = HandlerOptions(push=PUSH)
    return TemporalRequestHandler(
        stage.client, agent_card=agent_card, task_queue=TASK_QUEUE, options=options
    )


async def _told(
    stage: Stage, handler: TemporalRequestHandler, receiver: Hook, text: str
) -> list[float]:
    """Send a message and return how many milliseconds each of its notifications was on its way."""
    name = f"{time.monotonic_ns()}"
    message = request(text, message_id=name)
    message.configuration.task_push_notification_config.CopyFrom(
        TaskPushNotificationConfig(url=f"{receiver.url}/{name}")
    )
    task = await handler.on_message_send(message, ServerCallContext())
    assert isinstance(task, Task)
    until = time.monotonic() + _WITHIN
    while not any(
        each.path.endswith(name) and each.state == "COMPLETED" for each in receiver.taken
    ):
        assert time.monotonic() < until, f"{receiver.states()} at the receiver"
        await asyncio.sleep(0.005)
    written = await _times(stage, task.id)
    clock = time.time() - time.monotonic()
    return [
        (each.at + clock - written[int(each.headers["webhook-id"].split(".")[1])]) * 1e3
        for each in receiver.taken
        if each.path.endswith(name)
    ]


async def _times(stage: Stage, task_id: str) -> dict[int, float]:
    """Return when each event of a task's history was written."""
    history = await stage.client.get_workflow_handle(task_id).fetch_history()
    return {event.event_id: _seconds(event.event_time) for event in history.events}


def _seconds(at: Timestamp) -> float:
    return at.seconds + at.nanos / 1e9
