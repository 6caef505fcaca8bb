"""Call an ASGI app in this process: no socket, no lifespan, whole answers only."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette

from tests.support.calls import Caller

URL = "http://stub"


@asynccontextmanager
async def in_process(app: Starlette) -> AsyncGenerator[Caller]:
    """Yield a caller of the app."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=URL) as http:
        yield Caller(http=http, url=URL)
