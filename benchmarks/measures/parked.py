"""Thousands of tasks that wait for a person, and as many open streams on them.

The API is a process of its own and spoken to over HTTP, as it is deployed; its memory is what the
operating system says is resident.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, Iterable
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
from benchmarks.stats import Operation, in_turn, p50, p95

_AT_ONCE = 16
_FIRST_STREAMS = 60
_REQUEST_WITHIN = 300.0
_OPENED_WITHIN = 1200.0
_ANSWERS_PER_SECOND = 5
_ANSWERED_WITHIN = 20.0


class Api:
    """The API process and an HTTP client of it."""

    def __init__(self, process: Child, http: httpx.AsyncClient) -> None:
        self._process = process
        self._http = http

    @property
    def port(self) -> int:
        return self._process.ready["port"]

    async def memory(self, effort: Effort) -> int:
        """Return the resident bytes once the process has come to rest."""
        await asyncio.sleep(0.5 if effort.quick else 5)
        return self._process.memory

    async def send(
        self, text: str, *, task_id: str = "", at_once: bool = False, attempts: int = 1
    ) -> dict[str, Any]:
        """Send a message; each attempt is the same message, so a repeat makes no second task."""
        message: SendMessageRequest = request(
            text, message_id=str(uuid4()), task_id=task_id, at_once=at_once
        )
        body = MessageToDict(message)
        response = await self._http.post("/message:send", json=body)
        while response.is_server_error and (attempts := attempts - 1):
            response = await self._http.post("/message:send", json=body)
        response.raise_for_status()
        return response.json()["task"]

    async def answer(self) -> None:
        task = await self.send("answer")
        assert task["status"]["state"] == "TASK_STATE_COMPLETED", task

    async def park(self) -> str:
        task = await self.send("ask", attempts=5)
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", task
        return task["id"]

    async def get(self, task_id: str) -> None:
        (await self._http.get(f"/tasks/{task_id}")).raise_for_status()


async def measure(stage: Stage, effort: Effort) -> Readings:
    count, reduced = effort.parked_tasks, effort.quick
    async with contextlib.AsyncExitStack() as stack:
        api, quiet_api = await asyncio.gather(
            *(stack.enter_async_context(_api(stage, effort)) for _ in range(2))
        )
        await _many(api.answer() for _ in range(effort.warm_up_tasks))
        idle = await api.memory(effort)
        tasks = await _many(api.park() for _ in range(count))
        parked = (await api.memory(effort) - idle) / 1e6
        yield "parked-memory", Reading(parked, idle / 1e6, f"{count} tasks", reduced)
        async with running("watchers", str(api.port), logs=stage.directory) as watchers:
            # What the first streams load once, no stream after them costs again.
            first, rest = tasks[:_FIRST_STREAMS], tasks[_FIRST_STREAMS:] * effort.streams_a_task
            await watchers.ask(open=first)
            few = await api.memory(effort)
            began = time.perf_counter()
            await watchers.ask(open=rest, within=_OPENED_WITHIN)
            opening = time.perf_counter() - began
            each = (await api.memory(effort) - few) / len(rest) / 1e3
            note = f"HTTP server included, {effort.streams_a_task} a task"
            yield "streams-memory", Reading(each, None, note, reduced)
            async for name, reading in _others(api, quiet_api, tasks[-1], effort):
                yield name, reading
            answered = random.Random(7).sample(tasks, effort.answers)
            delays = await _answers(quiet_api, watchers, answered)
            note = f"p50 {p50(delays) / 1e3:.2f} s; sent to another replica, until COMPLETED"
            yield "streams-answer", Reading(p95(delays) / 1e3, None, note, reduced)
            dropped = (await watchers.ask(report=True))["dropped"]
            note = f"of {len(first) + len(rest)}, opened in {opening:.0f} s"
            yield "streams-dropped", Reading(dropped, None, note, reduced)


async def _others(api: Api, quiet_api: Api, task_id: str, effort: Effort) -> Readings:
    """Measure requests that have nothing to do with the streams, with and without streams."""
    sides = {"with": api, "without": quiet_api}
    operations: dict[str, dict[str, Operation]] = {
        "streams-others-send": {side: each.answer for side, each in sides.items()},
        "streams-others-get": {side: partial(each.get, task_id) for side, each in sides.items()},
    }
    for name, both in operations.items():
        await in_turn(both, rounds=2, clients=1, pause=0)
        samples = await in_turn(both, rounds=effort.other_requests, clients=1, pause=0.1)
        found = {side: p50([calls[0] for calls in rounds]) for side, rounds in samples.items()}
        note = "in turn with an API process that holds no stream"
        yield name, Reading(found["with"], found["without"], note, effort.quick)


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
async def _api(stage: Stage, effort: Effort) -> AsyncGenerator[Api, None]:
    async with (
        running("api", str(effort.long_polls), logs=stage.directory) as process,
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{process.ready['port']}",
            headers={"A2A-Version": "1.0"},
            timeout=_REQUEST_WITHIN,
        ) as http,
    ):
        yield Api(process, http)
