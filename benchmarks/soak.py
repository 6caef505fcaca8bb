"""``python -m benchmarks.soak``: half an hour of steady load beside thousands of parked streams.

5,000 tasks wait for a person, each with an open stream, while three tasks a second come and go.
What is asked: does any process grow, is a stream lost or deaf, and is the end as fast as the
beginning? Whether a stream still hears is asked at the end, by an answer to its task: that bytes
come says nothing, as the server pings whatever becomes of the task.
Environment: ``SOAK_MINUTES`` (30), ``SOAK_PARKED`` (5000), ``SOAK_RATE`` (3).

Exits with status 1 when a process grows, latency rises, a call fails, or a stream is lost or deaf.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psutil
from google.protobuf.json_format import MessageToDict

from benchmarks import report
from benchmarks.agent import request
from benchmarks.processes import Child, allow_open_files, running
from benchmarks.stats import p50, p95
from tests.support.temporal_server import TemporalServer, running_server

MINUTES = float(os.environ.get("SOAK_MINUTES", "30"))
PARKED = int(os.environ.get("SOAK_PARKED", "5000"))
RATE = float(os.environ.get("SOAK_RATE", "3"))

# A sixth of the run at each end is compared: five minutes of thirty.
_ENDS = 6
_WARM_UP = 0.2
"""Share of the run after which memory has to stay flat."""
_GROWTH = 1.05
_GROWTH_BYTES = 12e6
"""What an allocator may keep beyond: arenas of a burst."""
_SLOWER = 1.2
_SLOWER_TAIL = 1.5
"""The slowest of some hundred calls tell of the machine's other work as well."""
_ANSWERED = 200
_ANSWERS_AT_ONCE = 4
_TOLD_WITHIN = 5.0
_WAITED_FOR = 15.0
_AT_ONCE = 24
_SAMPLES = 120
_LONG_POLLS = 200
_OPENED_WITHIN = 1800.0

_TEMPORAL = "the Temporal dev server"


@dataclass
class Readings:
    """What was measured while it ran: seconds since the start, and a figure."""

    latency: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    memory: dict[str, list[tuple[float, int]]] = field(
        default_factory=dict[str, list[tuple[float, int]]]
    )
    failed: list[str] = field(default_factory=list[str])
    log_ends: list[str] = field(default_factory=list[str])
    dropped: int = 0
    told: list[float] = field(default_factory=list[float])
    """Seconds from an answer until the task's stream brought the end; infinite where it did not."""

    def ends(self, seconds: float) -> tuple[list[float], list[float]]:
        """Return the latencies of the first and of the last part of the run."""
        part = seconds / _ENDS
        first = [took for at, took in self.latency if at <= part]
        last = [took for at, took in self.latency if at >= seconds - part]
        return first, last


@dataclass(frozen=True)
class Verdict:
    """One row: a figure, what it is held against, and whether that is kept."""

    what: str
    figure: str
    bar: str
    ok: bool


def judged(readings: Readings, seconds: float) -> list[Verdict]:
    """Hold what was measured against what is asked."""
    first, last = readings.ends(seconds)
    slower, slower_tail = p50(last) / p50(first), p95(last) / p95(first)
    rows = [
        Verdict(
            "latency of a task, last part against the first, p50",
            f"{p50(last):.0f} / {p50(first):.0f} ms = {slower:.2f}",
            f"≤ {_SLOWER}",
            slower <= _SLOWER,
        ),
        Verdict(
            "the same, p95",
            f"{p95(last):.0f} / {p95(first):.0f} ms = {slower_tail:.2f}",
            f"≤ {_SLOWER_TAIL}",
            slower_tail <= _SLOWER_TAIL,
        ),
    ]
    for name, samples in readings.memory.items():
        before, after = growth(samples, seconds)
        flat = after <= max(before * _GROWTH, before + _GROWTH_BYTES)
        text = f"{before / 1e6:.0f} → {after / 1e6:.0f} MB"
        ours = name != _TEMPORAL
        bar = "flat" if ours else "not ours"
        rows.append(Verdict(f"memory of {name} after warm-up", text, bar, flat or not ours))
    rows.append(
        Verdict("streams lost", f"{readings.dropped} of {PARKED}", "0", readings.dropped == 0)
    )
    rows.append(_hearing(readings.told))
    failed = len(readings.failed)
    made = len(readings.latency) + failed
    rows.append(Verdict("calls failed", f"{failed} of {made}", "0", not failed))
    return rows


def _hearing(told: Sequence[float]) -> Verdict:
    in_time = sum(seconds <= _TOLD_WITHIN for seconds in told)
    figure = f"{in_time} of {len(told)}, the slowest after {max(told, default=math.inf):.1f} s"
    ok = bool(told) and in_time == len(told)
    return Verdict(f"streams told of an answer within {_TOLD_WITHIN:g} s", figure, "all", ok)


def growth(samples: Sequence[tuple[float, int]], seconds: float) -> tuple[float, float]:
    """Return the memory after warm-up and at the end: the lower half of each, so peaks are out."""
    after = [(at, size) for at, size in samples if at >= seconds * _WARM_UP]
    third = max(1, len(after) // 3)
    return _low(after[:third]), _low(after[-third:])


def _low(samples: Sequence[tuple[float, int]]) -> float:
    sizes = sorted(size for _, size in samples)
    return p50([float(size) for size in sizes[: max(1, len(sizes) // 2)]])


async def soak(directory: Path) -> tuple[Readings, float]:
    """Run it all; returns what was measured, and for how many seconds."""
    seconds = MINUTES * 60
    async with _ready(directory) as (http, server, processes):
        print(f"parking {PARKED} tasks ...", file=sys.stderr)
        parked = await _park(http)
        watchers = processes["watchers"]
        print("opening their streams ...", file=sys.stderr)
        await watchers.ask(open=parked, within=_OPENED_WITHIN)
        readings = Readings()
        print(f"running for {MINUTES:g} minutes ...", file=sys.stderr)
        begun = time.monotonic()
        watching = asyncio.create_task(_watch(readings, server, processes, begun, seconds))
        await _steadily(http, readings, begun, seconds)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        readings.dropped = (await watchers.ask(report=True))["dropped"]
        print("answering some of the parked tasks ...", file=sys.stderr)
        await _answer_some(parked, watchers, readings, directory)
        if readings.failed:
            readings.log_ends = [f"{name}:\n{each.log_end()}" for name, each in processes.items()]
        return readings, seconds


@contextlib.asynccontextmanager
async def _ready(
    directory: Path,
) -> AsyncGenerator[tuple[httpx.AsyncClient, TemporalServer, dict[str, Child]]]:
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_server(directory))
        os.environ.update(TEMPORAL_ADDRESS=server.address, TASK_QUEUE="soak")
        os.environ.pop("TEMPORAL_NAMESPACE", None)
        api = await stack.enter_async_context(running("api", str(_LONG_POLLS), logs=directory))
        worker = await stack.enter_async_context(running("worker", logs=directory))
        port = str(api.ready["port"])
        watchers = await stack.enter_async_context(running("watchers", port, logs=directory))
        http = await stack.enter_async_context(_calling(api))
        yield http, server, {"api": api, "worker": worker, "watchers": watchers}


def _calling(api: Child) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{api.ready['port']}",
        headers={"A2A-Version": "1.0"},
        timeout=60,
    )


async def _park(http: httpx.AsyncClient) -> list[str]:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one() -> str:
        async with gate:
            task = await _send(http, "ask")
            assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", task
            return str(task["id"])

    return await asyncio.gather(*(one() for _ in range(PARKED)))


async def _steadily(
    http: httpx.AsyncClient, readings: Readings, begun: float, seconds: float
) -> None:
    """Send tasks at the rate that is asked for, however long each takes."""
    sending: set[asyncio.Task[None]] = set()
    number = 0
    while (now := time.monotonic() - begun) < seconds:
        due = number / RATE
        if now < due:
            await asyncio.sleep(due - now)
        number += 1
        task = asyncio.create_task(_one(http, readings, begun))
        sending.add(task)
        task.add_done_callback(sending.discard)
    await asyncio.gather(*sending)


async def _one(http: httpx.AsyncClient, readings: Readings, begun: float) -> None:
    at = time.monotonic()
    try:
        task = await _send(http, "answer")
        assert task["status"]["state"] == "TASK_STATE_COMPLETED", task
    except (AssertionError, httpx.HTTPError) as error:
        said = error.response.text if isinstance(error, httpx.HTTPStatusError) else repr(error)
        readings.failed.append(f"after {at - begun:.0f} s: {said}")
        return
    readings.latency.append((at - begun, (time.monotonic() - at) * 1e3))


async def _answer_some(
    parked: Sequence[str], watchers: Child, readings: Readings, directory: Path
) -> None:
    """Answer some of the parked tasks, and note how long their streams took to say so.

    By another API process: the one that holds the streams would read what is answered there.
    """
    answered: dict[str, float] = {}
    gate = asyncio.Semaphore(_ANSWERS_AT_ONCE)

    async def answer(task_id: str, http: httpx.AsyncClient) -> None:
        async with gate:
            try:
                task = await _send(http, "yes", task_id=task_id)
                assert task["status"]["state"] == "TASK_STATE_COMPLETED", task
            except (AssertionError, httpx.HTTPError) as error:
                readings.failed.append(f"answering task {task_id}: {error!r}")
            answered[task_id] = time.time()

    some = random.Random(7).sample(parked, min(_ANSWERED, len(parked)))
    async with running("api", str(_LONG_POLLS), logs=directory) as api, _calling(api) as http:
        await asyncio.gather(*(answer(task_id, http) for task_id in some))
    deadline = time.monotonic() + _WAITED_FOR
    completed: dict[str, float] = {}
    while len(completed) < len(some) and time.monotonic() < deadline:
        await asyncio.sleep(0.5)
        completed = (await watchers.ask(report=True))["completed"]
    readings.told = [
        max(0.0, completed.get(task_id, math.inf) - at) for task_id, at in answered.items()
    ]


async def _send(http: httpx.AsyncClient, text: str, *, task_id: str = "") -> dict[str, Any]:
    message = request(text, message_id=str(uuid4()), task_id=task_id)
    response = await http.post("/message:send", json=MessageToDict(message))
    response.raise_for_status()
    return response.json()["task"]


async def _watch(
    readings: Readings,
    server: TemporalServer,
    processes: dict[str, Child],
    begun: float,
    seconds: float,
) -> None:
    while True:
        at = time.monotonic() - begun
        sizes = {name: process.memory for name, process in processes.items() if name != "watchers"}
        sizes[_TEMPORAL] = psutil.Process(server.process.pid).memory_info().rss
        for name, size in sizes.items():
            readings.memory.setdefault(name, []).append((at, size))
        await asyncio.sleep(seconds / _SAMPLES)


def written(rows: Sequence[Verdict], *, load: float) -> str:
    """Return the figures as a section of RESULTS.md."""
    today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    lines = [
        report.SOAK,
        "",
        f"{today} · {MINUTES:g} minutes, {PARKED} parked tasks with a stream each, {RATE:g} tasks "
        f"a second · {os.cpu_count()} cores, load {load:.1f} before the run",
        "",
        "| what | figure | bar | ok |",
        "|---|--:|--:|---|",
        *(
            f"| {row.what} | {row.figure} | {row.bar} | {'yes' if row.ok else 'NO'} |"
            for row in rows
        ),
        "",
        "Written by `make soak`. Memory is the resident set.",
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write into {report.RESULTS.name}")
    options = parser.parse_args(arguments)
    allow_open_files(PARKED + 1000)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="a2a-temporal-soak-") as directory:
        readings, seconds = asyncio.run(soak(Path(directory)))
    rows = judged(readings, seconds)
    for row in rows:
        print(f"{'ok ' if row.ok else 'NO '} {row.what}: {row.figure} {row.bar}")
    for line in [*readings.failed[:5], *readings.log_ends]:
        print(line)
    if options.write:
        report.write_section(report.SOAK, written(rows, load=load))
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
