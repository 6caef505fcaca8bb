"""An API process as users run it: the app of ``create_app`` under uvicorn."""

from __future__ import annotations

import asyncio
import os
import socket
import sys

import uvicorn

from a2a_temporal import HandlerOptions, TemporalRequestHandler, connect, create_app
from benchmarks.agent import card
from benchmarks.processes import allow_open_files, say, told_to_stop

_OPEN_FILES = 6_000


class Server(uvicorn.Server):
    """Says which port it has once it accepts connections."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            say(port=self.servers[0].sockets[0].getsockname()[1])


async def main(long_polls: int) -> None:
    allow_open_files(_OPEN_FILES)
    handler = TemporalRequestHandler(
        await connect(),
        agent_card=card(),
        task_queue=os.environ["TASK_QUEUE"],
        options=HandlerOptions(long_polls=long_polls),
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
    asyncio.run(main(int(sys.argv[1])))
