"""One Temporal with time skipping, by the kit that users get, for all tests that use it."""

from collections.abc import AsyncIterator

import pytest_asyncio
from temporalio.client import Client

from a2a_temporal.testing import temporal_server


@pytest_asyncio.fixture(scope="session")
async def skipping() -> AsyncIterator[Client]:
    """A client of a Temporal server that skips time."""
    async with temporal_server() as client:
        yield client
