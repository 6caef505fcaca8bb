"""``python -m benchmarks.core``: measure the library beside its anchors, in one run.

Prints a table (or, with ``--json``, one object a row) and exits with status 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from temporalio.api.workflowservice.v1 import GetSystemInfoRequest

from benchmarks import report
from benchmarks.bars import BARS, BY_NAME, Readings, Row
from benchmarks.effort import FULL, QUICK, Effort
from benchmarks.measures import (
    delivery,
    history,
    listing,
    parked,
    peers,
    push,
    reading,
    receivers,
    send,
    stack,
)
from benchmarks.stage import Stage, stage

logger = logging.getLogger(__name__)

Measure = Callable[[Stage, Effort], Readings]


@dataclass(frozen=True)
class Measurement:
    """One run that yields the readings of several bars."""

    name: str
    bars: tuple[str, ...]
    measure: Measure


MEASUREMENTS = (
    Measurement(
        "send",
        ("send-1-vs-workflow", "send-16-vs-workflow", "send-1-vs-cluster", "send-16-vs-cluster"),
        send.measure,
    ),
    Measurement("read", ("read-1-vs-streams", "read-20-vs-streams"), delivery.measure_streams),
    Measurement("read-elsewhere", ("read-elsewhere-vs-cluster",), delivery.measure_replica),
    Measurement(
        "history",
        ("history-per-batch", "history-per-subscriber", "history-one-turn"),
        history.measure,
    ),
    Measurement("get", ("get-vs-describe",), reading.measure),
    Measurement("list", ("list-page",), listing.measure),
    Measurement("push", ("push-p50", "push-p95"), push.measure),
    Measurement(
        "parked",
        (
            "parked-memory",
            "streams-dropped",
            "streams-answer",
            "streams-others-send",
            "streams-others-get",
            "streams-memory",
        ),
        parked.measure,
    ),
    Measurement("burst", ("burst-healthz", "burst-cpu"), peers.measure_burst),
    Measurement("heavy", ("parts-healthz", "numbers-healthz"), peers.measure_heavy),
    Measurement("receiver", ("receiver-memory", "receiver-others"), receivers.measure),
    Measurement("stack", ("stack-time", "stack-cpu"), stack.measure),
)


async def run(measurements: Sequence[Measurement], effort: Effort) -> tuple[list[Row], str]:
    """Measure and return the rows in the order of the bars, and the server's version."""
    rows: dict[str, Row] = {}
    with tempfile.TemporaryDirectory(prefix="a2a-temporal-bench-") as directory:
        async with stage(Path(directory)) as ready:
            server = await _server_version(ready)
            for measurement in measurements:
                print(f"measuring {measurement.name} ...", file=sys.stderr)
                began = time.monotonic()
                for row in await _rows(measurement, ready, effort):
                    rows[row.bar.name] = row
                print(f"... {time.monotonic() - began:.0f} s", file=sys.stderr)
    return [rows[bar.name] for bar in BARS if bar.name in rows], server


async def _rows(measurement: Measurement, ready: Stage, effort: Effort) -> list[Row]:
    rows: dict[str, Row] = {}
    failure = "not measured"
    try:
        async for name, reading in measurement.measure(ready, effort):
            rows[name] = BY_NAME[name].row(reading)
    except Exception as error:  # one broken measurement must not hide the others
        logger.exception("The measurement %r failed.", measurement.name)
        failure = f"failed: {type(error).__name__}, see the log above"
    return [rows.get(name) or BY_NAME[name].failed(failure) for name in measurement.bars]


async def _server_version(ready: Stage) -> str:
    info = await ready.client.workflow_service.get_system_info(GetSystemInfoRequest())
    return info.server_version


def chosen(only: Sequence[str]) -> list[Measurement]:
    """Return the measurements that the names ask for; a name is a measurement's or a row's.

    Raises:
        ValueError: If a name is neither.
    """
    if not only:
        return list(MEASUREMENTS)
    known = {m.name for m in MEASUREMENTS} | set(BY_NAME)
    if unknown := sorted(set(only) - known):
        raise ValueError(f"Unknown: {', '.join(unknown)}. Known: {', '.join(sorted(known))}.")
    return [m for m in MEASUREMENTS if {m.name, *m.bars} & set(only)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.core", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object a row")
    parser.add_argument("--quick", action="store_true", help="take under a minute")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--write", action="store_true", help=f"write {report.RESULTS.name}")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    try:
        measurements = chosen(options.only)
    except ValueError as error:
        parser.error(str(error))
    load = os.getloadavg()[0]
    rows, server = asyncio.run(run(measurements, QUICK if options.quick else FULL))
    if options.json:
        for row in rows:
            print(json.dumps(row.as_json()))
    else:
        print(report.terminal(rows))
    if options.write:
        report.write(rows, server=server, load=load)
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
