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
from a2a_temporal._processes import AgentProcesses, free_port
from a2a_temporal._testing.user import User, state_of

_HTTP_TIMEOUT = 60.0
_PATIENCE = 60.0
_POLL_SECONDS = 0.1


class RunningProcesses(AgentProcesses):
    """What :func:`running_processes` yields.

    Attributes:
        user: The anonymous user, who speaks through the official client.
    """

    user: User

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
                agent,
                temporal=temporal,
                directory=folder,
                environment={"PYTHONPATH": path, **(environment or {})},
            )
            try:
                await running.start()
                await running.connect()
                yield running
                await running.user.aclose()
            finally:
                running.stop()
