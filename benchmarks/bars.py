"""The bars: what is measured, beside what, and how much is allowed.

A measurement yields a ``Reading``; a bar turns it into a ``Row``, the line of the table and the
object of ``--json``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Reading:
    """What one measurement found for one bar."""

    figure: float
    anchor: float | None = None
    note: str = ""
    reduced: bool = False
    """Measured with smaller numbers than the bar speaks of (``--quick``)."""


Readings = AsyncIterator[tuple[str, Reading]]
"""What a measurement yields: the name of a bar, and what was found for it."""


@dataclass(frozen=True)
class Bar:
    """One line of the table before it is measured."""

    name: str
    what: str
    against: str
    unit: str
    limit: float
    judged: Literal["ratio", "figure"]

    def row(self, reading: Reading) -> Row:
        ratio = None
        if self.judged == "ratio" and reading.anchor:
            ratio = reading.figure / reading.anchor
        judged = ratio if self.judged == "ratio" else reading.figure
        ok = judged is not None and judged <= self.limit
        return Row(self, reading.figure, reading.anchor, ratio, ok, reading.note, reading.reduced)

    def failed(self, reason: str) -> Row:
        return Row(self, None, None, None, ok=False, note=reason, reduced=False)

    @property
    def text(self) -> str:
        return f"<= {self.limit:g} {'x' if self.judged == 'ratio' else self.unit}".rstrip()


@dataclass(frozen=True)
class Row:
    """One measured line of the table."""

    bar: Bar
    figure: float | None
    anchor: float | None
    ratio: float | None
    ok: bool
    note: str
    reduced: bool

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.bar.name,
            "figure": _rounded(self.figure),
            "anchor": _rounded(self.anchor),
            "ratio": _rounded(self.ratio),
            "bar": self.bar.limit,
            "ok": self.ok,
            "unit": self.bar.unit,
            "judged": self.bar.judged,
            "what": self.bar.what,
            "against": self.bar.against,
            "reduced": self.reduced,
            "note": self.note,
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _ratio(name: str, what: str, against: str, unit: str, limit: float) -> Bar:
    return Bar(name, what, against, unit, limit, "ratio")


def _figure(name: str, what: str, unit: str, limit: float, *, against: str = "") -> Bar:
    return Bar(name, what, against, unit, limit, "figure")


_WORKFLOW = "execute_workflow, one activity"
_CLUSTER = "SDK cluster, SQLite"
_STREAMS = "workflow_streams"

BARS: tuple[Bar, ...] = (
    _ratio("send-1-vs-workflow", "blocking SendMessage, 1 client, p50", _WORKFLOW, "ms", 0.9),
    _ratio("send-16-vs-workflow", "blocking SendMessage, 16 clients, p50", _WORKFLOW, "ms", 1.2),
    _ratio("send-1-vs-cluster", "blocking SendMessage, 1 client, p50", _CLUSTER, "ms", 2.5),
    _ratio("send-16-vs-cluster", "blocking SendMessage, 16 clients, p50", _CLUSTER, "ms", 1.5),
    _ratio("read-1-vs-streams", "event published to read, 1 subscriber, p50", _STREAMS, "ms", 0.2),
    _ratio(
        "read-20-vs-streams", "event published to read, 20 subscribers, p50", _STREAMS, "ms", 0.2
    ),
    _ratio(
        "read-elsewhere-vs-cluster",
        "event published to read on another replica, p50",
        _CLUSTER,
        "ms",
        0.1,
    ),
    _figure("history-per-batch", "history events per streamed batch", "events", 4),
    _figure("history-per-subscriber", "history events per subscriber", "events", 0),
    _figure("history-one-turn", "history events, one turn, not streamed", "events", 16),
    _ratio("get-vs-describe", "GetTask, finished task, first read, p50", "describe", "ms", 1.5),
    _figure("list-page", "ListTasks, page of 50 of 10,000, visibility calls", "calls", 20),
    _figure("push-p50", "event in the log to push notification, p50", "ms", 150),
    _figure("push-p95", "event in the log to push notification, p95", "ms", 400),
    _figure("parked-memory", "API memory for 5,000 parked tasks", "MB", 50, against="idle"),
    _figure("streams-dropped", "5,000 open streams, dropped", "streams", 0),
    _figure("streams-answer", "5,000 open streams, answer to stream, p95", "s", 2),
    _ratio(
        "streams-others-send",
        "5,000 open streams, blocking SendMessage, p50",
        "without streams",
        "ms",
        1.25,
    ),
    _ratio("streams-others-get", "5,000 open streams, GetTask, p50", "without streams", "ms", 1.25),
    _figure("streams-memory", "5,000 open streams, API memory for each", "KB", 60),
    _figure("burst-healthz", "5,000 chunks at once to 25 streams, slowest /healthz", "ms", 200),
    _figure("burst-cpu", "5,000 chunks at once to 25 streams, server CPU for each", "us", 40),
    _figure("parts-healthz", "260 KB message of 20,000 parts, slowest /healthz", "ms", 200),
    _figure("numbers-healthz", "600 KB of numbers in a message, slowest /healthz", "ms", 200),
    _figure("receiver-memory", "receiver's answer of 1,099 bytes, worker memory", "MB", 20),
    _ratio(
        "receiver-others",
        "receiver's answer of 1,099 bytes, SendMessage of others, p95",
        "a plain receiver",
        "ms",
        1.5,
    ),
    _ratio("stack-time", "whole stack over HTTP, 16 at once, time a task", _WORKFLOW, "ms", 1.18),
    _ratio(
        "stack-cpu",
        "whole stack, CPU of server and worker a task",
        "CPU of client and worker",
        "ms",
        1.9,
    ),
)
BY_NAME = {bar.name: bar for bar in BARS}
