"""What the bytes of one peer cost all others: how long ``/healthz`` is silent meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import httpx

from benchmarks.bars import Reading, Readings
from benchmarks.effort import Effort
from benchmarks.processes import running
from benchmarks.stage import Stage, send

_READERS = 25
_CHUNK_BYTES = 64
_DELAY = 3.0
_BETWEEN_PROBES = 0.01
_WITHIN = 120.0
_PARTS = 20_000
_NUMBERS = 300_000  # a digit and a comma each
_HEADERS = {"A2A-Version": "1.0"}


async def measure_burst(stage: Stage, effort: Effort) -> Readings:
    """Publish many small chunks at once, which many streams of one server read."""
    async with (
        running("api", str(effort.long_polls), logs=stage.directory) as api,
        running("watchers", str(api.ready["port"]), logs=stage.directory) as watchers,
        _client(api.ready["port"]) as http,
    ):
        text = f"burst {effort.burst_chunks} {_CHUNK_BYTES} {_DELAY}"
        task = await send(stage.handler, text, at_once=True)
        await watchers.ask(open=[task.id] * _READERS)
        before = api.cpu
        async with _probing(http) as probes:
            deadline = time.monotonic() + _WITHIN
            while (await watchers.ask(report=True))["done"] < _READERS:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"not all streams ended within {_WITHIN:.0f} s")
                await asyncio.sleep(0.2)
        used = api.cpu - before
        each = used / (effort.burst_chunks * _READERS)
        yield "burst-healthz", Reading(max(probes), note=f"of {len(probes)} probes")
        yield "burst-cpu", Reading(each * 1e6, note=f"{used:.2f} s in all")


async def measure_heavy(stage: Stage, effort: Effort) -> Readings:
    """Send messages that are small in bytes and large in values."""
    messages = {
        "parts-healthz": [{"text": "a"}] * _PARTS,
        "numbers-healthz": [{"data": [1] * _NUMBERS}],
    }
    for name, parts in messages.items():
        async with (
            running("api", str(effort.long_polls), logs=stage.directory) as api,
            _client(api.ready["port"]) as http,
            _client(api.ready["port"]) as heavy,
        ):
            before = api.cpu
            answers: set[int] = set()
            async with _probing(http) as probes:
                for _ in range(effort.heavy_requests):
                    answers |= await _send_heavy(heavy, parts)
            each = (api.cpu - before) / effort.heavy_requests / 2
            note = f"{each:.2f} s of CPU each, answered {sorted(answers)}"
            yield name, Reading(max(probes), note=note)


async def _send_heavy(http: httpx.AsyncClient, parts: list[Any]) -> set[int]:
    """Send a message over both bindings; return the status of the answers."""
    message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": parts}
    params = {"message": message, "configuration": {"returnImmediately": True}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    bodies = {"/": call, "/message:send": params}
    headers = {**_HEADERS, "Content-Type": "application/json"}
    return {
        (await http.post(path, content=_compact(body), headers=headers)).status_code
        for path, body in bodies.items()
    }


def _compact(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


@contextlib.asynccontextmanager
async def _probing(http: httpx.AsyncClient) -> AsyncGenerator[list[float]]:
    """Ask for ``/healthz`` all the time; yields the milliseconds that the answers took."""
    took: list[float] = []

    async def probe() -> None:
        while True:
            began = time.perf_counter()
            await http.get("/healthz")
            took.append((time.perf_counter() - began) * 1e3)
            await asyncio.sleep(_BETWEEN_PROBES)

    await http.get("/healthz")
    probing = asyncio.create_task(probe())
    try:
        yield took
        await asyncio.sleep(5 * _BETWEEN_PROBES)
    finally:
        probing.cancel()
        await asyncio.gather(probing, return_exceptions=True)


@contextlib.asynccontextmanager
async def _client(port: int) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers=_HEADERS, timeout=_WITHIN
    ) as http:
        yield http
