"""Worker and server of an agent as real processes, which the demo and tests kill."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from a2a_temporal._embedded import EmbeddedTemporal

_START_SECONDS = 60.0
_POLL_SECONDS = 0.05


class CommandProcess:
    """One ``a2a-temporal`` process.

    Args:
        arguments: Of the command.
        environment: Added to this process's own.
        log: Takes the output of the process.
    """

    def __init__(self, *arguments: str, environment: Mapping[str, str], log: Path) -> None:
        self._command = [sys.executable, "-m", "a2a_temporal", *arguments]
        self._environment = {**os.environ, **environment}
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id; 0 while it does not run."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the process."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """End the process with SIGKILL: it gets no chance to save anything."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End the process with SIGTERM; with SIGKILL if it takes more than 10 seconds."""
        if self._process is None:
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self.kill()

    def check(self) -> None:
        """Make sure the process lives.

        Raises:
            RuntimeError: It has ended; the text ends with its last lines.
        """
        if self._process is not None and self._process.poll() is not None:
            lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
            raise RuntimeError("A process ended: " + "\n".join(lines[-5:]))


class AgentProcesses:
    """A worker and a server of one agent, next to a Temporal.

    Args:
        agent: ``module:object``, as on the command line.
        temporal: The Temporal; it must run while the others do.
        directory: Takes the logs.
        environment: Further variables of both.

    Attributes:
        url: Where the server is; it stays the same after a restart.
        temporal: The Temporal server: ``kill()`` ends it as a power cut would, ``start()`` starts
            it with the data it had.
    """

    url: str
    temporal: EmbeddedTemporal

    def __init__(
        self,
        agent: str,
        *,
        temporal: EmbeddedTemporal,
        directory: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.temporal = temporal
        variables = {
            **(environment or {}),
            "TEMPORAL_ADDRESS": temporal.address,
            "TEMPORAL_NAMESPACE": "default",
        }
        self._worker, self._server = (
            CommandProcess(*command, environment=variables, log=directory / f"{command[0]}.log")
            for command in (("worker", agent), ("serve", agent, f"--port={port}"))
        )

    async def start(self) -> None:
        """Start worker and server; returns when the server is ready.

        Raises:
            RuntimeError: One of them ended or is not ready in time; the text ends with its last
                lines.
        """
        await self.start_worker()
        await self.start_server()
        self._worker.check()

    async def start_worker(self) -> None:
        """Start a worker process."""
        self._worker.start()

    async def start_server(self) -> None:
        """Start the server process; returns when it is ready.

        Raises:
            RuntimeError: It ended, or is not ready in time; the text ends with its last lines.
        """
        self._server.start()
        until = time.monotonic() + _START_SECONDS
        async with httpx.AsyncClient() as http:
            while time.monotonic() < until:
                self._server.check()
                with contextlib.suppress(httpx.HTTPError):
                    if (await http.get(f"{self.url}/readyz")).is_success:
                        return
                await asyncio.sleep(_POLL_SECONDS)
        seconds = f"{_START_SECONDS:.0f} seconds"
        raise RuntimeError(f"The server did not answer at {self.url} within {seconds}.")

    def kill_worker(self) -> None:
        """End the worker with SIGKILL."""
        self._worker.kill()

    def kill_server(self) -> None:
        """End the server with SIGKILL."""
        self._server.kill()

    def kill(self) -> None:
        """End worker and server with SIGKILL."""
        self.kill_worker()
        self.kill_server()

    async def restart(self) -> None:
        """End worker, server and Temporal with SIGKILL, and start them again."""
        self.kill()
        await self.temporal.kill()
        await self.temporal.start()
        await self.start()

    def stop(self) -> None:
        """End worker and server with SIGTERM."""
        self._server.stop()
        self._worker.stop()


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
