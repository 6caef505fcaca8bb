"""The demo's stage: a Temporal, a worker and an API as real processes, and a client."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
from a2a.client import ClientConfig, create_client
from a2a.client.client import Client

from a2a_temporal._demo.agent import LEDGER_VARIABLE
from a2a_temporal._embedded import EmbeddedTemporal
from a2a_temporal._processes import CommandProcess, answering, free_port


class Stage:
    """A worker and an API of one agent, next to a Temporal.

    Args:
        agent: ``module:object``, as on the command line.
        temporal: The Temporal; it must run while the others do.
        directory: Takes logs and the ledger.
    """

    def __init__(self, agent: str, *, temporal: EmbeddedTemporal, directory: Path) -> None:
        self.temporal = temporal
        self.ledger = directory / "ledger.txt"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        environment = {
            "TEMPORAL_ADDRESS": temporal.address,
            "TEMPORAL_NAMESPACE": "default",
            LEDGER_VARIABLE: str(self.ledger),
        }
        self._worker = CommandProcess(
            "worker", agent, environment=environment, log=directory / "worker.log"
        )
        self._api = CommandProcess(
            "serve", agent, "--port", str(port), environment=environment, log=directory / "api.log"
        )

    async def start(self) -> None:
        """Start worker and API; returns when the API is ready.

        Raises:
            RuntimeError: One of them did not come up.
        """
        self._worker.start()
        self._api.start()
        await answering(self.url, self._api)
        self._worker.check()

    def kill(self) -> None:
        """End both with SIGKILL."""
        self._worker.kill()
        self._api.kill()

    def stop(self) -> None:
        """End both politely."""
        self._api.stop()
        self._worker.stop()

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[Client]:
        """Connect the official client."""
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
            config = ClientConfig(httpx_client=http)
            client = await create_client(self.url, client_config=config)
            yield await stack.enter_async_context(client)
