"""A worker in TypeScript: its locked packages are installed once, into a cache of the user."""

import asyncio
import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.processes import ROOT, Process
from tests.support.temporal_server import TemporalServer

SOURCES = ROOT / "tests" / "typescript"
READY = "typescript worker is ready"
_INSTALL_SECONDS = 400


async def installed() -> Path:
    """Return a folder with the sources beside their packages; skips the test without node."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node is not installed")
    digest = hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()[:12]
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "a2a-temporal" / f"typescript-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    for source in SOURCES.iterdir():
        shutil.copy(source, folder)
    await asyncio.to_thread(_install_once, npm, folder)
    return folder


def _install_once(npm: str, folder: Path) -> None:
    """Install, unless another process of this run does so just now or has done so before."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            _install(npm, folder)


def _install(npm: str, folder: Path) -> None:
    done = subprocess.run(
        [npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"npm ci failed:\n{done.stdout}\n{done.stderr}"
    (folder / "installed").touch()


@asynccontextmanager
async def typescript_worker(
    temporal: TemporalServer, folder: Path, *, task_queue: str, cached: int = 0
) -> AsyncGenerator[Process]:
    """Run the worker for as long as the block lasts."""
    sources = await installed()
    worker = Process(
        "typescript-worker",
        ["node", str(sources / "worker.mjs")],
        env={
            "TEMPORAL_ADDRESS": temporal.address,
            "TASK_QUEUE": task_queue,
            "MAX_CACHED_WORKFLOWS": str(cached),
        },
        log=folder / "typescript.log",
    )
    try:
        worker.start()
        await worker.logged(READY, within=90)
        yield worker
    finally:
        await worker.put_away()
