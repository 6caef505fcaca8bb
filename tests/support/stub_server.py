"""Serve the stub with a plain uvicorn: `python -m tests.support.stub_server PORT PING_SECONDS`."""

import asyncio
import sys

import uvicorn

from tests.support.stub_handler import stub_app


async def _serve(port: int, ping_seconds: float) -> None:
    app = await stub_app(ping_seconds=ping_seconds)
    await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port)).serve()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2])))
