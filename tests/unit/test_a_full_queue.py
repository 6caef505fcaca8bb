"""An agent far ahead of Temporal waits for room, and never for ever."""

import asyncio
from datetime import timedelta
from typing import Any

from a2a.types.a2a_pb2 import Artifact, Part, TaskArtifactUpdateEvent

from a2a_temporal._worker.agent.event_queue import PublishingQueue
from a2a_temporal._worker.agent.sending import LogClosedError, Pace
from tests.support.waiting import within

MEGABYTE = TaskArtifactUpdateEvent(
    artifact=Artifact(artifact_id="a", parts=[Part(text="x" * 1_000_000)])
)


class _Stuck:
    """A log that takes nothing, until it turns out to be closed."""

    def __init__(self) -> None:
        self.found_closed = asyncio.Event()
        self.published = 0
        self.queue = PublishingQueue(
            self._send,
            turn=1,
            attempt=1,
            pace=Pace(timedelta(milliseconds=1)),
            limit_bytes=None,
        )

    async def _send(self, _: dict[str, Any]) -> None:
        await self.found_closed.wait()
        raise LogClosedError("task")

    async def publish(self) -> None:
        while True:
            await self.queue.enqueue_event(MEGABYTE)
            self.published += 1


async def _publishers(log: _Stuck) -> list["asyncio.Task[None]"]:
    """Start agents and let them publish until they wait."""
    started = [asyncio.create_task(log.publish()) for _ in range(3)]
    before = -1
    while before != log.published:
        before = log.published
        for _ in range(20):
            await asyncio.sleep(0)
    assert not any(each.done() for each in started)
    return started


async def test_whoever_waits_learns_that_the_log_is_closed() -> None:
    log = _Stuck()
    started = await _publishers(log)
    log.found_closed.set()
    ended = await within(5, asyncio.gather(*started, return_exceptions=True))
    assert [type(each) for each in ended] == [LogClosedError] * 3


async def test_whoever_waits_can_be_stopped_when_the_attempt_is_void() -> None:
    log = _Stuck()
    started = await _publishers(log)
    log.queue.abandon()
    await asyncio.sleep(0)
    for each in started:
        each.cancel()
    ended = await within(5, asyncio.gather(*started, return_exceptions=True))
    assert [type(each) for each in ended] == [asyncio.CancelledError] * 3
