"""An API process as users run it: the app of ``create_app`` under uvicorn, with its defaults."""

from __future__ import annotations

import asyncio
import os
import socket

import uvicorn

from a2a_temporal import TemporalRequestHandler, connect, create_app
from benchmarks.agent import card
from benchmarks.processes import allow_open_files, say, told_to_stop

_OPEN_FILES = 6_000


class Server(uvicorn.Server):
    """Says which port it has once it accepts connections."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            say(port=self.servers[0].sockets[0].getsockname()[1])


async def main() -> None:
    allow_open_files(_OPEN_FILES)
    handler = TemporalRequestHandler(
        await connect(), agent_card=card(), task_queue=os.environ["TASK_QUEUE"]
    )
    config = uvicorn.Config(
        create_app(handler),
        host="127.0.0.1",
        port=0,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=3,
    )
    server = Server(config)
    serving = asyncio.create_task(server.serve())
    await told_to_stop()
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main())
