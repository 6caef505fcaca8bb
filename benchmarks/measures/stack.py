"""A task through the whole stack, as it is deployed, beside a bare workflow.

Ours is an HTTP client, the API process and the worker; the anchor a process with a Temporal client
and the same worker. What the HTTP client costs counts in the time and not in the CPU.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable
from uuid import uuid4

from benchmarks.bars import Reading, Readings
from benchmarks.effort import Effort
from benchmarks.processes import Child, running
from benchmarks.stage import Stage
from benchmarks.stats import p50

_AT_ONCE = 16
_WITHIN = 60.0
_REST = 0.5
_COMPLETED = b"TASK_STATE_COMPLETED"


async def measure(stage: Stage, effort: Effort) -> Readings:
    async with (
        running("api", str(effort.long_polls), logs=stage.directory) as api,
        running("bare_client", logs=stage.directory) as client,
    ):
        port = api.ready["port"]

        async def ours(tasks: int) -> None:
            each = tasks // _AT_ONCE
            await asyncio.gather(*(_client(port, each) for _ in range(_AT_ONCE)))

        async def bare(tasks: int) -> None:
            await client.ask(tasks=tasks, at_once=_AT_ONCE, within=_WITHIN)

        sides = {"ours": (ours, (api, stage.worker)), "bare": (bare, (client, stage.worker))}
        for run, _ in sides.values():
            await run(2 * _AT_ONCE)
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        cpu: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(effort.stack_rounds):
            for name in list(sides)[:: 1 if number % 2 else -1]:
                took, used = await _round(*sides[name], effort.stack_tasks)
                seconds[name].append(took / effort.stack_tasks * 1e3)
                cpu[name].append(used / effort.stack_tasks * 1e3)
    rates = {name: 1e3 / p50(each) for name, each in seconds.items()}
    note = f"{rates['ours']:.0f} tasks a second against {rates['bare']:.0f}"
    yield "stack-time", Reading(p50(seconds["ours"]), p50(seconds["bare"]), note)
    yield "stack-cpu", Reading(p50(cpu["ours"]), p50(cpu["bare"]))


async def _round(
    run: Callable[[int], Awaitable[None]], processes: tuple[Child, ...], tasks: int
) -> tuple[float, float]:
    """Return the seconds and the seconds of CPU that some tasks took."""
    before = sum(each.cpu for each in processes)
    began = time.perf_counter()
    await run(tasks)
    took = time.perf_counter() - began
    # What the tasks have left to do is paid by them.
    await asyncio.sleep(_REST)
    return took, sum(each.cpu for each in processes) - before


async def _client(port: int, tasks: int) -> None:
    """Send one message after the other over one connection, each until its task is complete.

    On a bare socket, so that the machine's time goes to the stack and not to its client.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.closing(writer):
        for _ in range(tasks):
            writer.write(_request())
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _WITHIN)
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            answer = await asyncio.wait_for(reader.readexactly(length), _WITHIN)
            if _COMPLETED not in answer:
                raise RuntimeError(f"{head!r} {answer!r}")


def _request() -> bytes:
    message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": "answer"}]}
    body = json.dumps({"message": message}).encode()
    return (
        b"POST /message:send HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    ) + body
