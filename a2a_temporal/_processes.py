"""Processes of the command line, started and killed for real: for the demo and for tests."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx

_START_SECONDS = 30.0
_POLL_SECONDS = 0.05


class CommandProcess:
    """One ``a2a-temporal`` process.

    Args:
        arguments: Of the command.
        environment: Added to this process's own.
        log: Takes what the process says.
    """

    def __init__(self, *arguments: str, environment: dict[str, str], log: Path) -> None:
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
        """End the process politely; with force if it does not listen."""
        if self._process is None:
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self.kill()

    def check(self) -> None:
        """Make sure the process lives.

        Raises:
            RuntimeError: It has ended; the text ends with what it said last.
        """
        if self._process is not None and self._process.poll() is not None:
            said = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
            raise RuntimeError("A process ended: " + "\n".join(said))


async def answering(url: str, process: CommandProcess) -> None:
    """Return once an API answers.

    Raises:
        RuntimeError: It ended, or did not answer in time.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + _START_SECONDS
    async with httpx.AsyncClient() as http:
        while loop.time() < until:
            process.check()
            with contextlib.suppress(httpx.HTTPError):
                if (await http.get(f"{url}/readyz")).is_success:
                    return
            await asyncio.sleep(_POLL_SECONDS)
    raise RuntimeError(f"The server did not answer at {url} within {_START_SECONDS:.0f} seconds.")


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
