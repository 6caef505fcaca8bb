"""An agent mounted into a FastAPI app: `python -m tests.support.mounted_server PORT TEMPORAL`.

It is a plain uvicorn process, and the app runs no lifespan of what is mounted into it.
"""

import asyncio
import sys

import uvicorn
from a2a.types.a2a_pb2 import AgentCard, AgentInterface
from fastapi import FastAPI

from a2a_temporal import TemporalRequestHandler, connect, create_app
from tests.support.in_process import CARD


async def _serve(port: int, temporal: str) -> None:
    card = AgentCard()
    card.CopyFrom(CARD)
    url = f"http://127.0.0.1:{port}/agents/scripted"
    for binding, path in (("JSONRPC", "/"), ("HTTP+JSON", "")):
        card.supported_interfaces.append(
            AgentInterface(url=url + path, protocol_binding=binding, protocol_version="1.0")
        )
    client = await connect(address=temporal, lazy=True, env={})
    handler = TemporalRequestHandler(client, agent_card=card, task_queue="nobody-works-here")
    app = FastAPI()
    app.mount("/agents/scripted", create_app(handler))
    await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port)).serve()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), sys.argv[2]))
