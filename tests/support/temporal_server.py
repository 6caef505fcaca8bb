"""A real Temporal dev server with a database file, so that even its own death is survived."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.service import RPCError

from a2a_temporal._embedded import find_binary
from a2a_temporal._encryption import encrypted
from tests.support.processes import Process, free_port
from tests.support.waiting import eventually

NAMESPACE = "default"

# A deletion waits until two queues have noted how far they are: every 30 s unless told otherwise.
_QUICK_DELETION = [
    f'--dynamic-config-value=history.{queue}ProcessorUpdateAckInterval="1s"'
    for queue in ("transfer", "visibility")
]


class TemporalServer:
    """One dev server; start, kill and start again keep port and database.

    Args:
        folder: Takes the database and the log.
        arguments: Further arguments of `temporal server start-dev`.
    """

    def __init__(self, folder: Path, *, arguments: Sequence[str] = ()) -> None:
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.folder = folder
        self.process = Process(
            f"temporal-{self.port}",
            [
                find_binary(),
                "server",
                "start-dev",
                "--headless",
                "--ip=127.0.0.1",
                f"--port={self.port}",
                f"--db-filename={folder / 'temporal.db'}",
                "--log-level=error",
                *_QUICK_DELETION,
                *arguments,
            ],
            env={},
            log=folder / "temporal.log",
        )

    async def start(self) -> None:
        """Start it and wait until the namespace answers."""
        self.process.start()
        await eventually(self._answers, within=30, what="an answer of the Temporal server")

    def lose_everything(self) -> None:
        """Kill it, and its database with it."""
        self.process.kill()
        for file in self.folder.glob("temporal.db*"):
            file.unlink()

    async def client(self, *, env: Mapping[str, str] | None = None) -> Client:
        """Connect to it, as an operator would whose environment names encryption keys."""
        return await Client.connect(
            self.address,
            namespace=NAMESPACE,
            data_converter=encrypted(DataConverter.default, env or {}),
        )

    def holds(self, text: str) -> bool:
        """Say whether the database files, or the server's log, hold a text in clear."""
        held = False
        for path in self.folder.glob("temporal.*"):
            with contextlib.suppress(FileNotFoundError):  # a journal comes and goes
                held |= text.encode() in path.read_bytes()
        return held

    async def _answers(self) -> bool:
        self.process.must_run()
        try:
            client = await Client.connect(self.address, namespace=NAMESPACE)
            await client.count_workflows("WorkflowType = 'none'")
        except (RPCError, RuntimeError):
            return False
        return True


@asynccontextmanager
async def running_server(
    folder: Path, *, arguments: Sequence[str] = ()
) -> AsyncGenerator[TemporalServer]:
    """Run a server for as long as the block lasts."""
    server = TemporalServer(folder, arguments=arguments)
    try:
        await server.start()
        yield server
    finally:
        server.process.kill()  # nobody reads its database any more


async def stopped_and_started(server: TemporalServer, *, pause: float = 0) -> None:
    """Kill a server with SIGKILL and start it again on the same database."""
    server.process.kill()
    await asyncio.sleep(pause)
    await server.start()
