"""The official client, set up the way a patient user would."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import grpc.aio
import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import StreamResponse

from tests.support.calls import JSONRPC


@asynccontextmanager
async def official_client(
    url: str, *, binding: str = JSONRPC, token: str | None = None, patience: float = 30
) -> AsyncGenerator[Client]:
    """Resolve the card at a URL and speak one binding of it."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(timeout=patience, headers=headers, trust_env=False) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        config = ClientConfig(
            httpx_client=http,
            supported_protocol_bindings=[binding],
            grpc_channel_factory=grpc.aio.insecure_channel,
        )
        yield ClientFactory(config).create(card)


async def collected(responses: AsyncIterator[StreamResponse]) -> list[StreamResponse]:
    """Read a stream to its end."""
    return [response async for response in responses]
