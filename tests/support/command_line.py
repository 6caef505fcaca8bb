"""`a2a-temporal` as an operator runs it: one command to its end, in a process of its own."""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import Process


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


async def ran(address: str, *arguments: str, env: Mapping[str, str] | None = None) -> Ran:
    """Run a command against the Temporal at an address."""
    with tempfile.TemporaryDirectory() as folder:
        errors = Path(folder) / "err"
        process = Process(
            f"a2a-temporal {arguments[0]}",
            [sys.executable, "-m", "a2a_temporal", *arguments],
            env={"TEMPORAL_ADDRESS": address, **(env or {})},
            log=Path(folder) / "out",
            errors=errors,
        )
        process.start()
        try:
            code = await process.exited(within=60)
        finally:
            await process.put_away()
        return Ran(code, process.output(), errors.read_text())
