"""The ledger: what the agent really did, outside of Temporal and of A2A.

It is the oracle for "did the work stop" and "did it run twice", so a line must survive the death of
its writer and never mix with a line of another process: one `write` to a file opened for append.
"""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """An append-only file of JSON lines, shared by all processes; without a path, nothing."""

    path: Path | None

    def write(
        self, *, task: str, kind: str, step: int | str, attempt: int, key: str | None = None
    ) -> None:
        """Append one line that is on its way to the disk when this returns."""
        if self.path is None:
            return
        line: dict[str, int | float | str] = {
            "task": task,
            "kind": kind,
            "step": step,
            "attempt": attempt,
            "time": time.time(),
            "pid": os.getpid(),
        }
        if key is not None:
            line["key"] = key
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, json.dumps(line).encode() + b"\n")
        finally:
            os.close(descriptor)


@dataclass(frozen=True, kw_only=True)
class OutOfBand:
    """A folder in which a file named after a task releases it: the other door, not A2A."""

    folder: Path | None

    def released(self, task_id: str) -> bool:
        """Say whether somebody has left a credential for the task."""
        return self.folder is not None and (self.folder / task_id).exists()
