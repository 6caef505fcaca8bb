"""An agent under test as real processes, which a test may kill: worker, server and Temporal."""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import httpx
from a2a.client import A2ACardResolver
from a2a.types import Task

from a2a_temporal._embedded import EmbeddedTemporal
from a2a_temporal._processes import CommandProcess, answering, free_port
from a2a_temporal._testing.user import User, state_of

_HTTP_TIMEOUT = 60.0
_PATIENCE = 60.0
_POLL_SECONDS = 0.1


class RunningProcesses:
    """What :func:`running_processes` yields.

    Attributes:
        url: Where the server is; it stays the same after a restart.
        temporal: The Temporal server: ``kill()`` ends it as a power cut would, ``start()`` starts
            it with the data it had.
        user: The anonymous user, who speaks through the official client.
    """

    url: str
    temporal: EmbeddedTemporal
    user: User

    def __init__(
        self,
        agent: str,
        temporal: EmbeddedTemporal,
        directory: Path,
        environment: Mapping[str, str],
    ) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.temporal = temporal
        environment = {
            **environment,
            "TEMPORAL_ADDRESS": temporal.address,
            "TEMPORAL_NAMESPACE": "default",
        }
        self._worker = CommandProcess(
            "worker", agent, environment=environment, log=directory / "worker.log"
        )
        self._server = CommandProcess(
            "serve", agent, f"--port={port}", environment=environment, log=directory / "server.log"
        )

    async def start_worker(self) -> None:
        """Start a worker process."""
        self._worker.start()

    async def start_server(self) -> None:
        """Start the server process; returns when it is ready.

        Raises:
            RuntimeError: It ended, or is not ready in time; the text ends with its last lines.
        """
        self._server.start()
        await answering(self.url, self._server)

    def kill_worker(self) -> None:
        """End the worker with SIGKILL."""
        self._worker.kill()

    def kill_server(self) -> None:
        """End the server with SIGKILL."""
        self._server.kill()

    async def restart(self) -> None:
        """End worker, server and Temporal with SIGKILL, and start them again."""
        self.kill_worker()
        self.kill_server()
        await self.temporal.kill()
        await self.temporal.start()
        await self.start_worker()
        await self.start_server()

    async def until(self, task: Task | str, *states: str, within: float = _PATIENCE) -> Task:
        """Wait until a task is in one of some states, such as ``completed``.

        A server that is restarted at this moment is asked again.

        Raises:
            AssertionError: It was not in time; says what it was.
        """
        until, seen = time.monotonic() + within, "unknown"
        while time.monotonic() < until:
            with contextlib.suppress(httpx.HTTPError):
                found = await self.user.get(task)
                seen = state_of(found)
                if seen in states:
                    return found
            await asyncio.sleep(_POLL_SECONDS)
        raise AssertionError(f"not {' or '.join(states)} within {within} s; the task is {seen}")

    async def connect(self) -> None:
        """Connect :attr:`user`."""
        http = httpx.AsyncClient(timeout=_HTTP_TIMEOUT)
        card = await A2ACardResolver(http, self.url).get_agent_card()
        self.user = User(http, card, name="")

    def stop(self) -> None:
        """End worker and server politely."""
        self._server.stop()
        self._worker.stop()


@contextlib.asynccontextmanager
async def running_processes(
    agent: str, *, environment: Mapping[str, str] | None = None, directory: Path | None = None
) -> AsyncGenerator[RunningProcesses]:
    """Run an agent as ``a2a-temporal worker`` and ``serve``, with a Temporal server of its own.

    For tests of what survives: everything may be killed. :func:`running_agent` is faster, lets
    time pass, and is enough for all else.

    Args:
        agent: ``module:object``, as on the command line.
        environment: Further variables for worker and server.
        directory: Takes the database and the logs; a temporary one by default.

    Raises:
        EmbeddedTemporalError: The Temporal server cannot be started.
        RuntimeError: Worker or server cannot be started; the text ends with its last lines.
    """
    with contextlib.ExitStack() as stack:
        folder = directory or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="a2a-temporal-"))
        )
        async with EmbeddedTemporal(
            directory=folder, port=free_port(), ui_port=free_port()
        ) as temporal:
            path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
            running = RunningProcesses(
                agent, temporal, folder, {"PYTHONPATH": path, **(environment or {})}
            )
            try:
                await running.start_worker()
                await running.start_server()
                await running.connect()
                yield running
                await running.user.aclose()
            finally:
                running.stop()
