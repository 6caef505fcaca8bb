"""What `make soak` claims can fail."""

import math
from collections.abc import Callable

import pytest

from benchmarks.soak import Readings, judged

SECONDS = 600.0


def _good() -> Readings:
    latency = [(float(at), 40.0 + at % 10) for at in range(int(SECONDS))]
    memory = {"api": [(float(at), 100_000_000) for at in range(0, int(SECONDS), 5)]}
    return Readings(latency=latency, memory=memory, told=[1.0] * 200)


def _slower(readings: Readings) -> None:
    readings.latency = [(at, took * (2 if at > 400 else 1)) for at, took in readings.latency]


def _slower_at_times(readings: Readings) -> None:
    readings.latency = [
        (at, took * (3 if at > 400 and at % 10 == 0 else 1)) for at, took in readings.latency
    ]


def _larger(readings: Readings) -> None:
    readings.memory["api"] = [(at, size + int(at) * 100_000) for at, size in readings.memory["api"]]


def _lost(readings: Readings) -> None:
    readings.dropped = 1


def _deaf(readings: Readings) -> None:
    readings.told[7] = math.inf


def _late(readings: Readings) -> None:
    readings.told[7] = 5.1


def _unasked(readings: Readings) -> None:
    readings.told = []


def _failed(readings: Readings) -> None:
    readings.failed.append("after 3 s: no answer")


def test_a_good_run_passes() -> None:
    assert all(row.ok for row in judged(_good(), SECONDS))


@pytest.mark.parametrize(
    ("spoil", "row"),
    [
        (_slower, "p50"),
        (_slower_at_times, "p95"),
        (_larger, "memory of api"),
        (_lost, "lost"),
        (_deaf, "told"),
        (_late, "told"),
        (_unasked, "told"),
        (_failed, "failed"),
    ],
)
def test_a_bad_one_does_not(spoil: Callable[[Readings], None], row: str) -> None:
    readings = _good()
    spoil(readings)
    bad = [each.what for each in judged(readings, SECONDS) if not each.ok]
    assert any(row in what for what in bad), bad
