"""Processes of the benchmark: a module of this package, spoken to in JSON lines.

The parent writes commands to the child's standard input and reads answers from its standard
output; the child ends when its input ends, so none outlives a run that was killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import resource
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import psutil

_LINE_LIMIT = 4 * 1024 * 1024
_READY_WITHIN = 60.0
_STOP_WITHIN = 20.0

_numbers = itertools.count(1)


class Child:
    """A running child, seen from the parent."""

    def __init__(self, module: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self._module = module
        self._process = process
        self._log = log
        self.ready: dict[str, Any] = {}
        """What the child said when it was ready."""

    async def ask(self, *, within: float = 60.0, **command: object) -> dict[str, Any]:
        """Send a command and return the next line the child prints."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        await self._process.stdin.drain()
        return await self.answer(within=within)

    async def answer(self, *, within: float = 60.0) -> dict[str, Any]:
        """Return the next line the child prints."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), within)
        if not line:
            raise RuntimeError(f"{self._module} ended early. Its log ends:\n{self.log_end()}")
        return json.loads(line)

    @property
    def memory(self) -> int:
        """The bytes of memory that the process has resident."""
        return psutil.Process(self._process.pid).memory_info().rss

    @property
    def cpu(self) -> float:
        """The seconds of CPU that the process has used, as a user and in the kernel."""
        times = psutil.Process(self._process.pid).cpu_times()
        return times.user + times.system

    async def stop(self) -> None:
        """End the input, and wait; kill what does not end by itself."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_WITHIN)
        except asyncio.TimeoutError:
            self._process.kill()
            await self._process.wait()

    def log_end(self) -> str:
        """Return the last lines that the process has logged."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])


@contextlib.asynccontextmanager
async def running(module: str, *arguments: str, logs: Path) -> AsyncGenerator[Child, None]:
    """Run ``python -m benchmarks.<module>`` until the block ends; it has said that it is ready."""
    log = logs / f"{module}.{next(_numbers)}.log"
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            f"benchmarks.{module}",
            *arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=Path(__file__).parents[1],
            limit=_LINE_LIMIT,
        )
    child = Child(module, process, log)
    try:
        child.ready = await child.answer(within=_READY_WITHIN)
        yield child
    finally:
        await child.stop()


def say(**fields: object) -> None:
    """Print one line to the parent."""
    print(json.dumps(fields), flush=True)


async def commands() -> AsyncIterator[dict[str, Any]]:
    """Yield the parent's commands until it ends the input."""
    reader = asyncio.StreamReader(limit=_LINE_LIMIT)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield json.loads(line)


async def told_to_stop() -> None:
    """Wait until the parent ends the input."""
    async for _ in commands():
        pass


def allow_open_files(count: int) -> None:
    """Raise the soft limit of open files of this process.

    Raises:
        RuntimeError: If the hard limit is lower.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= count or soft == resource.RLIM_INFINITY:
        return
    if hard != resource.RLIM_INFINITY and hard < count:
        raise RuntimeError(f"{count} open files are needed, {hard} allowed: see `ulimit -Hn`.")
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
