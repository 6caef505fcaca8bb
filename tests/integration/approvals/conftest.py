"""These tests use the kit that users get: one Temporal with time skipping for all of them."""

from collections.abc import AsyncIterator

import pytest_asyncio
from temporalio.client import Client

from a2a_temporal.testing import temporal_server


@pytest_asyncio.fixture(scope="session")
async def skipping() -> AsyncIterator[Client]:
    """A client of a Temporal server that skips time."""
    async with temporal_server() as client:
        yield client
