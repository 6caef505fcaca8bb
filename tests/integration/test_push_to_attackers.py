"""Receivers that attack cost what the documentation says, and hold up no other receiver."""

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import repeat

from temporalio.client import Client
from temporalio.worker import Worker

from a2a_temporal import A2APlugin
from a2a_temporal._log import wire
from a2a_temporal._worker.push.contract import PushStart
from tests.support.hook import hook
from tests.support.machine import slowness
from tests.support.push_tasks import CONFIG, PUSH, submitted
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

TIMEOUT = 2.0
REST = 1.0
"""How long the rest of an answer is waited for, once its headers are there."""

OK = b"HTTP/1.1 200 OK\r\n"

Attack = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def _write(writer: asyncio.StreamWriter, *pieces: bytes, pause: float = 0) -> None:
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(pause)


async def endless_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _write(writer, OK, *repeat(b"a: b\r\n" * 100, 100_000))


async def one_byte_at_a_time(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _write(writer, OK, *repeat(b"x", 1000), pause=0.5)


async def a_great_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = OK + b"Content-Length: 100000000\r\n\r\n"
    await _write(writer, head, *repeat(bytes(65536), 100_000_000 // 65536))


async def a_reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def a_redirect_to_itself(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    port = writer.get_extra_info("sockname")[1]
    location = f"Location: http://127.0.0.1:{port}/\r\n".encode()
    await _write(writer, b"HTTP/1.1 307 Again\r\n" + location + b"Content-Length: 0\r\n\r\n")


async def nothing_at_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _write(writer, *repeat(bytes(range(256)), 1000))


class Attacker:
    """A receiver that attacks whoever connects; notes how long each connection was open."""

    def __init__(self, attack: Attack, scheme: str) -> None:
        self.attack = attack
        self.scheme = scheme
        self.url = ""
        self.seconds: list[float] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        began = time.monotonic()
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            if self.scheme == "http":
                await reader.readuntil(b"\r\n\r\n")
            await self.attack(reader, writer)
            await reader.read()
        self.seconds.append(time.monotonic() - began)
        writer.close()


@asynccontextmanager
async def attacking(attack: Attack, scheme: str = "http") -> AsyncGenerator[Attacker]:
    attacker = Attacker(attack, scheme)
    server = await asyncio.start_server(attacker.serve, "127.0.0.1")
    attacker.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    try:
        yield attacker
    finally:
        server.close()


async def test_attackers_are_left_in_time_and_hold_up_nobody(temporal: TemporalServer) -> None:
    client = await temporal.client()
    queue = f"attacked-{uuid.uuid4().hex[:8]}"
    push = replace(PUSH, timeout=timedelta(seconds=TIMEOUT))
    failures = {
        endless_headers: "sent more than 65536 bytes of headers",
        one_byte_at_a_time: "did not answer within 2 s",
        a_reset: "broke the exchange off",
        a_redirect_to_itself: "answered 307",
        nothing_at_all: "did not answer within 2 s",
        garbage: "broke the exchange off",
    }
    async with AsyncExitStack() as stack:
        attackers = {
            attack: await stack.enter_async_context(attacking(attack))
            for attack in (*failures, a_great_body)
        }
        tls = [
            await stack.enter_async_context(attacking(attack, "https"))
            for attack in (garbage, nothing_at_all)
        ]
        well = await stack.enter_async_context(hook())
        plugin = A2APlugin(push=push)
        await stack.enter_async_context(Worker(client, task_queue=queue, plugins=[plugin]))
        deliveries = {
            attack: await _deliver(client, queue, attacker.url)
            for attack, attacker in attackers.items()
        }
        for attacker in tls:
            await _deliver(client, queue, attacker.url)
        for number in range(3):
            await _deliver(client, queue, f"{well.url}/{number}")
            path = f"/hook/{number}"
            await eventually(lambda path=path: path in [each.path for each in well.taken], within=5)
        for attack, text in failures.items():
            await eventually(
                lambda attack=attack, text=text: _failed(client, deliveries[attack], text),
                within=20,
                what=f"{text!r} of {attack.__name__}",
            )
        for attacker in (*attackers.values(), *tls):
            await eventually(
                lambda attacker=attacker: attacker.seconds, within=20, what=attacker.attack.__name__
            )
            assert min(attacker.seconds) < (TIMEOUT + REST + 1) * slowness(), attacker.attack
        taken = deliveries[a_great_body]
        await eventually(lambda: _nothing_is_left(client, taken), within=20)


async def _deliver(client: Client, queue: str, url: str) -> str:
    """Begin the deliveries of a task of which a receiver is to be told; their workflow's id."""
    task = await submitted(client, url)
    workflow_id = wire.push_workflow_id(task.task_id, 1)
    await client.start_workflow(
        wire.PUSH_WORKFLOW,
        PushStart(task.task_id, task.run_id, 1, configs={CONFIG: [1, 1]}),
        id=workflow_id,
        task_queue=queue,
    )
    return workflow_id


async def _failed(client: Client, workflow_id: str, text: str) -> bool:
    described = await client.get_workflow_handle(workflow_id).describe()
    pending = described.raw_description.pending_activities
    return any(text in each.last_failure.message for each in pending)


async def _nothing_is_left(client: Client, workflow_id: str) -> bool:
    described = await client.get_workflow_handle(workflow_id).describe()
    return described.history_length > 5 and not described.raw_description.pending_activities
