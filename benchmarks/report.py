"""The table: on the terminal and, as Markdown, in RESULTS.md."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.bars import Row

RESULTS = Path(__file__).with_name("RESULTS.md")
SOAK = "## Soak"

_HEADINGS = ("name", "figure", "anchor", "ratio", "bar", "ok")

_HOW = """\
Written by `make bench`. Every figure stands beside its anchor, measured in turn with it in the same
run on the same machine and, where there is one, the same Temporal dev server (SQLite file).

- What runs on Temporal, ours and the anchors', is served by one worker process with default
  options, and called from one other process: our `RequestHandler` methods directly, the bare
  workflow and workflow_streams through the same Temporal client. The server is a third process.
  No workflow runs in the sandbox, on either side.
- The SDK's cluster is `DefaultRequestHandler` on `VersionedDatabaseTaskStore` and
  `DatabaseTaskEventStream` with their defaults. Its agent runs in the process of its handler, the
  only way it knows, so its sends cross no process boundary and survive no crash. For the row
  about another replica its agent runs in a second process.
- The agent is one and the same `AgentExecutor` on all sides: it says WORKING, adds one artifact,
  and completes.
- A burst of 16 takes as long as its last client waits.
- The rows about parked tasks and open streams are measured over HTTP, with the API (`create_app`
  under uvicorn) and the clients in processes of their own. Memory is the resident set.
- `/healthz` is asked all the time, 10 ms after each answer, while streams are written to or heavy
  messages arrive; the slowest answer counts.
- The whole stack is 16 bare HTTP connections, the API process and the worker, in turn with a
  process that calls `execute_workflow` at the same worker. The bar of 1.18 x a task is 0.85 x the
  tasks a second. CPU is what the processes have used, Temporal and the HTTP clients not counted.
"""


def terminal(rows: Sequence[Row]) -> str:
    """Return the table for people who ran the benchmark."""
    lines = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    table = [
        "  ".join(
            [line[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        )
        for line in lines
    ]
    notes = [f"  {row.bar.name}: {row.note}" for row in rows if row.note]
    if any(row.reduced for row in rows):
        notes.append("  * measured with fewer tasks than the bar speaks of")
    return "\n".join([*table, *notes])


def write(rows: Sequence[Row], *, server: str, load: float) -> None:
    """Write the table; the sections that other commands have written stay."""
    table = _markdown(rows, server=server, load=load).rstrip()
    _, *sections = _parts()
    RESULTS.write_text("\n\n".join([table, *sections]) + "\n")


def write_section(heading: str, section: str) -> None:
    """Write the section of another command, in place of an earlier one."""
    parts = [part for part in _parts() if not part.startswith(f"{heading}\n")]
    RESULTS.write_text("\n\n".join([*parts, section.rstrip()]) + "\n")


def _parts() -> list[str]:
    """Return what is there: the table, then each section."""
    present = RESULTS.read_text() if RESULTS.exists() else "# Benchmark results\n"
    return [part.rstrip() for part in re.split(r"^(?=## )", present, flags=re.MULTILINE)]


def _markdown(rows: Sequence[Row], *, server: str, load: float) -> str:
    today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    setup = (
        f"{today} · Python {platform.python_version()} · temporalio {version('temporalio')} · "
        f"a2a-sdk {version('a2a-sdk')} · Temporal server {server} · {os.cpu_count()} cores, "
        f"load {load:.1f} before the run · {platform.system()} {platform.machine()}"
    )
    table = [
        "| what | figure | against | anchor | ratio | bar | ok |",
        "|---|--:|---|--:|--:|--:|---|",
    ]
    for row in rows:
        _, figure, anchor, ratio, bar, ok = _cells(row)
        table.append(
            f"| {row.bar.what} | {figure} | {row.bar.against} | {anchor} | {ratio} | {bar} | {ok} |"
        )
    notes = [f"- {row.bar.what}: {row.note}" for row in rows if row.note]
    return "\n".join(["# Benchmark results", "", setup, "", *table, "", *notes, "", _HOW])


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.bar.name,
        _with_unit(row.figure, row.bar.unit) + ("*" if row.reduced else ""),
        _with_unit(row.anchor, row.bar.unit),
        "" if row.ratio is None else f"{row.ratio:.2f}",
        row.bar.text,
        "yes" if row.ok else "NO",
    )


def _with_unit(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    digits = 0 if float(value).is_integer() or value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}"
