"""The demo's stage: a Temporal, a worker and an API as real processes, and a client."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
from a2a.client import ClientConfig, create_client
from a2a.client.client import Client

from a2a_temporal._demo.agent import LEDGER_VARIABLE
from a2a_temporal._embedded import EmbeddedTemporal
from a2a_temporal._processes import AgentProcesses


class Stage(AgentProcesses):
    """Worker and server of an agent of the demo, with a ledger of what the agent really did."""

    def __init__(self, agent: str, *, temporal: EmbeddedTemporal, directory: Path) -> None:
        self.ledger = directory / "ledger.txt"
        super().__init__(
            agent,
            temporal=temporal,
            directory=directory,
            environment={LEDGER_VARIABLE: str(self.ledger)},
        )

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[Client]:
        """Connect the official client."""
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
            config = ClientConfig(httpx_client=http)
            client = await create_client(self.url, client_config=config)
            yield await stack.enter_async_context(client)
