"""Thousands of tasks that wait for a person, and as many open streams on them.

The API is a process of its own and spoken to over HTTP, as it is deployed; its memory is what the
operating system says is resident.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import httpx
from a2a.types import SendMessageRequest
from google.protobuf.json_format import MessageToDict

from benchmarks.agent import request
from benchmarks.bars import Reading, Readings
from benchmarks.effort import Effort
from benchmarks.processes import Child, running
from benchmarks.stage import Stage
from benchmarks.stats import p50, p95, timed

_AT_ONCE = 32
_WARM_UP = 200
_SETTLE = 5.0
_OPENED_WITHIN = 600.0
_ANSWERS_PER_SECOND = 20
_ANSWERED_WITHIN = 60.0


@dataclass(frozen=True)
class Others:
    """What requests that have nothing to do with the parked tasks take, in milliseconds."""

    send: float
    get: float


class Api:
    """The API process and an HTTP client of it."""

    def __init__(self, process: Child, http: httpx.AsyncClient) -> None:
        self._process = process
        self._http = http

    @property
    def port(self) -> int:
        return self._process.ready["port"]

    async def memory(self) -> int:
        """Return the resident bytes once the process has come to rest."""
        await asyncio.sleep(_SETTLE)
        return self._process.memory

    async def send(self, text: str, *, task_id: str = "", at_once: bool = False) -> dict[str, Any]:
        message: SendMessageRequest = request(
            text, message_id=str(uuid4()), task_id=task_id, at_once=at_once
        )
        response = await self._http.post("/message:send", json=MessageToDict(message))
        response.raise_for_status()
        return response.json()["task"]

    async def answer(self) -> None:
        task = await self.send("answer")
        assert task["status"]["state"] == "TASK_STATE_COMPLETED", task

    async def park(self) -> str:
        task = await self.send("ask")
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", task
        return task["id"]

    async def get(self, task_id: str) -> None:
        (await self._http.get(f"/tasks/{task_id}")).raise_for_status()

    async def others(self, effort: Effort) -> Others:
        """Measure requests about tasks of their own."""
        send = [await timed(self.answer) for _ in range(effort.other_requests)]
        task_id = (await self.send("answer"))["id"]
        get = [await timed(partial(self.get, task_id)) for _ in range(effort.other_requests)]
        return Others(p50(send), p50(get))


async def measure(stage: Stage, effort: Effort) -> Readings:
    count, reduced = effort.parked_tasks, effort.quick
    async with _api(stage) as api:
        await _many(api.answer() for _ in range(_WARM_UP))
        idle = await api.memory()
        tasks = await _many(api.park() for _ in range(count))
        parked = (await api.memory() - idle) / 1e6
        note = f"{count} tasks"
        yield "parked-memory", Reading(parked, idle / 1e6, note=note, reduced=reduced)
        before = await api.others(effort)
        quiet = await api.memory()
        async with running("watchers", str(api.port), logs=stage.directory) as watchers:
            began = time.perf_counter()
            await watchers.ask(open=tasks, within=_OPENED_WITHIN)
            opening = time.perf_counter() - began
            each = (await api.memory() - quiet) / count / 1e3
            yield "streams-memory", Reading(each, note="HTTP server included", reduced=reduced)
            during = await api.others(effort)
            delays = await _answers(api, watchers, tasks[: effort.answers])
            note = f"p50 {p50(delays) / 1e3:.2f} s, until the stream says COMPLETED"
            yield "streams-answer", Reading(p95(delays) / 1e3, note=note, reduced=reduced)
            dropped = (await watchers.ask(report=True))["dropped"]
            note = f"of {count}, opened in {opening:.0f} s"
            yield "streams-dropped", Reading(dropped, note=note, reduced=reduced)
            await watchers.ask(close=True)
        after = await api.others(effort)
    send = _others(during.send, before.send, after.send, reduced=reduced)
    yield "streams-others-send", send
    yield "streams-others-get", _others(during.get, before.get, after.get, reduced=reduced)


def _others(during: float, before: float, after: float, *, reduced: bool) -> Reading:
    return Reading(
        during,
        (before + after) / 2,
        note=f"{before:.1f} before, {after:.1f} after the streams",
        reduced=reduced,
    )


async def _answers(api: Api, watchers: Child, tasks: list[str]) -> list[float]:
    """Answer the tasks at a steady rate; return the milliseconds until their streams say so."""
    sent: dict[str, float] = {}

    async def answer(task_id: str) -> None:
        sent[task_id] = time.time()
        await api.send("yes", task_id=task_id, at_once=True)

    answers: list[asyncio.Task[None]] = []
    for task_id in tasks:
        answers.append(asyncio.create_task(answer(task_id)))
        await asyncio.sleep(1 / _ANSWERS_PER_SECOND)
    await asyncio.gather(*answers)
    deadline = time.monotonic() + _ANSWERED_WITHIN
    completed: dict[str, float] = {}
    while len(completed) < len(tasks) and time.monotonic() < deadline:
        await asyncio.sleep(0.5)
        completed = (await watchers.ask(report=True))["completed"]
    # An answer that never came counts as one that took as long as was waited for it.
    return [
        (completed[task_id] - at if task_id in completed else _ANSWERED_WITHIN) * 1e3
        for task_id, at in sent.items()
    ]


async def _many(calls: Iterable[Any]) -> list[Any]:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(call: Any) -> Any:
        async with gate:
            return await call

    return await asyncio.gather(*(one(call) for call in calls))


@contextlib.asynccontextmanager
async def _api(stage: Stage) -> AsyncGenerator[Api, None]:
    async with (
        running("api", logs=stage.directory) as process,
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{process.ready['port']}",
            headers={"A2A-Version": "1.0"},
            timeout=60,
        ) as http,
    ):
        yield Api(process, http)
