"""A push receiver whose small answer unpacks to much, beside one that answers with nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
from collections.abc import AsyncGenerator
from uuid import uuid4

from a2a.server.context import ServerCallContext
from a2a.types import AgentCard, TaskPushNotificationConfig

from a2a_temporal import HandlerOptions, TemporalRequestHandler
from benchmarks.agent import card, request
from benchmarks.bars import Reading, Readings
from benchmarks.effort import Effort
from benchmarks.stage import PUSH, TASK_QUEUE, Stage, answered
from benchmarks.stats import p50, p95, timed

_UNPACKED_BYTES = 600_000_000
_AT_ONCE = 4
_BETWEEN_LOOKS = 0.02
_DELIVERED_WITHIN = 60.0


class Receiver:
    """Answers every notification alike."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.notified = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            self.notified += 1
            writer.write(self._answer)
            await writer.drain()
        writer.close()


async def measure(stage: Stage, effort: Effort) -> Readings:
    packed = await asyncio.to_thread(_packed)
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n" % len(packed)
    answers = {
        "plain": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        "packed": head + b"Content-Encoding: gzip, gzip\r\n\r\n" + packed,
    }
    options = HandlerOptions(push=PUSH)
    handler = TemporalRequestHandler(
        stage.client, agent_card=_pushing_card(), task_queue=TASK_QUEUE, options=options
    )
    others: dict[str, list[float]] = {"plain": [], "packed": []}
    grown: list[int] = []
    try:
        for side in ("plain", "packed", "packed", "plain"):
            async with _receiving(answers[side]) as receiver:
                before = stage.worker.memory
                took, most = await _beside(stage, handler, receiver, effort.receiver_tasks // 2)
            others[side] += took
            if side == "packed":
                grown.append(most - before)
    finally:
        await handler.aclose()
    note = f"{len(packed)} bytes that unpack to {_UNPACKED_BYTES / 1e6:.0f} MB"
    yield "receiver-memory", Reading(max(grown) / 1e6, note=note)
    note = f"p50 {p50(others['packed']):.0f} against {p50(others['plain']):.0f} ms"
    yield "receiver-others", Reading(p95(others["packed"]), p95(others["plain"]), note)


async def _beside(
    stage: Stage, handler: TemporalRequestHandler, receiver: Receiver, tasks: int
) -> tuple[list[float], int]:
    """Return what tasks of others took beside notified ones, and the most memory of the worker."""
    most = stage.worker.memory

    async def look() -> None:
        nonlocal most
        while True:
            most = max(most, stage.worker.memory)
            await asyncio.sleep(_BETWEEN_LOOKS)

    looking = asyncio.create_task(look())
    try:
        took: list[float] = []
        for _ in range(tasks // _AT_ONCE):
            notified = [_notified(handler, receiver.url) for _ in range(_AT_ONCE)]
            calls = [timed(lambda: answered(stage.handler)) for _ in range(_AT_ONCE)]
            took += (await asyncio.gather(asyncio.gather(*notified), asyncio.gather(*calls)))[1]
        deadline = asyncio.get_running_loop().time() + _DELIVERED_WITHIN
        while receiver.notified < tasks // _AT_ONCE * _AT_ONCE:
            if asyncio.get_running_loop().time() > deadline:
                raise RuntimeError(f"{receiver.notified} notifications arrived in time")
            await asyncio.sleep(_BETWEEN_LOOKS)
        return took, most
    finally:
        looking.cancel()


async def _notified(handler: TemporalRequestHandler, url: str) -> None:
    """Send a message whose task a receiver is told of."""
    sent = request("answer", message_id=str(uuid4()))
    config = TaskPushNotificationConfig(url=url)
    sent.configuration.task_push_notification_config.CopyFrom(config)
    await handler.on_message_send(sent, ServerCallContext())


@contextlib.asynccontextmanager
async def _receiving(answer: bytes) -> AsyncGenerator[Receiver]:
    receiver = Receiver(answer)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    async with server:
        receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
        yield receiver


def _pushing_card() -> AgentCard:
    pushing = card()
    pushing.capabilities.push_notifications = True
    return pushing


def _packed() -> bytes:
    """Return what has been packed twice."""
    once = io.BytesIO()
    with gzip.GzipFile(fileobj=once, mode="wb", mtime=0) as packing:
        for _ in range(_UNPACKED_BYTES // 1_000_000):
            packing.write(bytes(1_000_000))
    return gzip.compress(once.getvalue(), mtime=0)
