"""The cluster set-up of a2a-sdk itself: its handler on its SQLite task store and event table.

It serves any replica, but the agent runs in the server process and nothing of it is resumed after
a crash. All settings are the package's defaults.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from a2a.server.cluster import DatabaseTaskEventStream, VersionedDatabaseTaskStore
from a2a.server.request_handlers import DefaultRequestHandler, RequestHandler
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.agent import BenchAgent, card


@contextlib.asynccontextmanager
async def replica(database: Path) -> AsyncGenerator[RequestHandler, None]:
    """Serve the benchmark's agent from the database, as one replica among several."""
    engine = create_async_engine(f"sqlite+aiosqlite:///{database}")
    store = VersionedDatabaseTaskStore(engine)
    await store.initialize()
    stream = DatabaseTaskEventStream(engine)
    await stream.initialize()
    handler = DefaultRequestHandler(BenchAgent(), store, card(), event_stream=stream)
    try:
        yield handler
    finally:
        await handler.aclose()
        await engine.dispose()
