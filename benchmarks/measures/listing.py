"""How many visibility calls a page of ListTasks costs, among many tasks of equal times."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Generator
from datetime import datetime, timedelta, timezone

from a2a.types import ListTasksRequest

from benchmarks.bars import Reading, Readings
from benchmarks.effort import Effort
from benchmarks.stage import Stage
from benchmarks.stats import p50
from tests.support.seeding import SeededAgent

_PAGE = 50
_OF_ONE_MILLISECOND = 50
_LOGGER = logging.getLogger("a2a_temporal.server")


async def measure(stage: Stage, effort: Effort) -> Readings:
    """Walk through all pages; every task has to be there once."""
    agent = SeededAgent(stage.client)
    day = datetime(2026, 3, 1, tzinfo=timezone.utc)
    times = [
        day + timedelta(milliseconds=number // _OF_ONE_MILLISECOND)
        for number in range(effort.listed_tasks)
    ]
    ids = await agent.submit(times)
    found: list[str] = []
    seconds: list[float] = []
    token = ""
    with _visibility_calls() as calls:
        while token or not found:
            began = time.monotonic()
            page = await agent.page(ListTasksRequest(page_size=_PAGE, page_token=token))
            seconds.append(time.monotonic() - began)
            assert page.total_size == len(ids), page.total_size
            found += [task.id for task in page.tasks]
            token = page.next_page_token
    await agent.handler.aclose()
    assert sorted(found) == sorted(ids), "a task is missing, or there twice"
    middle = len(seconds) // 2
    parts = zip(("first", "middle", "last"), (0, middle, -1), strict=True)
    each = ", ".join(f"{name} {calls[at]:.0f} in {seconds[at]:.2f} s" for name, at in parts)
    note = f"the worst page of {len(ids)} tasks, {_OF_ONE_MILLISECOND} a millisecond; "
    note += f"p50 {p50(calls):.0f}; {each}"
    yield "list-page", Reading(max(calls), note=note, reduced=effort.quick)


@contextlib.contextmanager
def _visibility_calls() -> Generator[list[float]]:
    """Collect what the server says, at debug level, each page has cost."""
    calls: list[float] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.msg.startswith("Listed") and isinstance(record.args, tuple):
                calls.append(float(str(record.args[1])))

    listening = Listening()
    level = _LOGGER.level
    _LOGGER.addHandler(listening)
    _LOGGER.setLevel(logging.DEBUG)
    _LOGGER.propagate = False
    try:
        yield calls
    finally:
        _LOGGER.removeHandler(listening)
        _LOGGER.setLevel(level)
        _LOGGER.propagate = True
