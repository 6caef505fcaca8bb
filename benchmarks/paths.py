"""``python -m benchmarks.paths``: how much of our code an operation passes through.

Server, worker, client and receiver run in this process, on a real Temporal server; a profile
function notes every call of the package (``tracing.py``). For each operation (``operations.py``):

- modules, functions: those of the package that ran between the request and the end of the task's
  workflow, in the server and in the worker. The modules of the test kit do not count.
- returns: how often the request, from function to function in the order of first calls, enters a
  module of ``_server`` again that it had left. Each of its asyncio tasks is counted by itself.
- folds: calls of ``_log.state.begin``, with which every fold of a log from its start begins. Those
  of the server are limited; a worker's activities, and each run of a workflow, make their own. A
  server that begins a task also makes its first state this way, of what it has just written.

Each figure is the median of several rounds, after one that imports what is imported lazily. Prints
a table (or, with ``--json``, one object an operation) and exits with status 1 above an aim.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import logging
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median_high

from temporalio.api.workflowservice.v1 import GetSystemInfoRequest

from benchmarks import report
from benchmarks.operations import OPERATIONS, Scene, scene, settled
from benchmarks.tracing import Trace, profiled

HEADING = "## Paths"
_SIDES = ("server", "worker", "workflow")
_ROUNDS = 3


@dataclass(frozen=True)
class Aim:
    """What an operation may pass through at most; None where nothing is said."""

    modules: int | None = None
    server_folds: int | None = None


AIMS = {
    "send": Aim(modules=38),
    "stream": Aim(),
    "cancel": Aim(modules=34, server_folds=1),
    "get": Aim(modules=15),
    "get-again": Aim(modules=15),
    "approve": Aim(server_folds=1),
    "push": Aim(modules=45),
}


@dataclass(frozen=True)
class Row:
    """What an operation passed through."""

    name: str
    what: str
    modules: int
    functions: int
    returns: int
    folds: dict[str, int]
    entered: Sequence[str]

    @property
    def ok(self) -> bool:
        aim = AIMS[self.name]
        return (aim.modules is None or self.modules <= aim.modules) and (
            aim.server_folds is None or self.folds["server"] <= aim.server_folds
        )

    @property
    def aim(self) -> str:
        aim = AIMS[self.name]
        said = [] if aim.modules is None else [f"<= {aim.modules} modules"]
        if aim.server_folds is not None:
            said.append(f"<= {aim.server_folds} fold of the server")
        return ", ".join(said)

    @property
    def cells(self) -> list[str]:
        folds = " / ".join(str(self.folds[side]) for side in _SIDES)
        figures = [str(self.modules), str(self.functions), str(self.returns), folds]
        ok = "" if not self.aim else "yes" if self.ok else "NO"
        return [self.what, *figures, self.aim, ok]


async def measured(names: Sequence[str], rounds: int) -> tuple[list[Row], str]:
    """Trace the operations; also returns the version of the Temporal server."""
    with tempfile.TemporaryDirectory(prefix="a2a-temporal-paths-") as directory:
        async with scene(Path(directory)) as ready:
            info = await ready.temporal.workflow_service.get_system_info(GetSystemInfoRequest())
            return [await _measured(ready, name, rounds) for name in names], info.server_version


async def _measured(ready: Scene, name: str, rounds: int) -> Row:
    operation = OPERATIONS[name]
    await operation(ready)
    traces: list[Trace] = []
    for _ in range(rounds):
        await settled()
        traces.append(await operation(ready))
    return Row(
        name,
        (operation.__doc__ or "").rstrip("."),
        modules=median_high(len(trace.modules) for trace in traces),
        functions=median_high(len(trace.functions) for trace in traces),
        returns=median_high(trace.returns for trace in traces),
        folds={side: median_high(trace.folds[side] for trace in traces) for side in _SIDES},
        entered=sorted(set[str]().union(*(trace.modules for trace in traces))),
    )


def terminal(paths: Sequence[Row]) -> str:
    """Return the table for people who ran the benchmark."""
    lines = [list(_HEADINGS), *(path.cells for path in paths)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def section(paths: Sequence[Row], server: str) -> str:
    """Return the figures as a section of RESULTS.md."""
    today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    lines = [
        HEADING,
        "",
        f"{today} · Python {platform.python_version()} · temporalio {version('temporalio')} · "
        f"a2a-sdk {version('a2a-sdk')} · Temporal server {server}",
        "",
        f"| {' | '.join(_HEADINGS)} |",
        "|---|--:|--:|--:|--:|---|---|",
        *(f"| {' | '.join(path.cells)} |" for path in paths),
        "",
        "Written by `python -m benchmarks.paths --write`, which says how these are counted.",
        "",
    ]
    return "\n".join(lines)


_HEADINGS = ("what", "modules", "functions", "returns", "folds: " + " / ".join(_SIDES), "aim", "ok")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paths",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object an operation")
    parser.add_argument("--only", action="append", choices=sorted(OPERATIONS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="default: %(default)s")
    parser.add_argument("--write", action="store_true", help=f"write into {report.RESULTS.name}")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    names = [name for name in OPERATIONS if not options.only or name in options.only]
    with profiled():
        paths, server = asyncio.run(measured(names, options.rounds))
    if options.json:
        for path in paths:
            print(json.dumps({**vars(path), "aim": path.aim, "ok": path.ok}))
    else:
        print(terminal(paths))
    if options.write:
        report.write_section(HEADING, section(paths, server))
    return 0 if all(path.ok for path in paths) else 1


if __name__ == "__main__":
    sys.exit(main())
