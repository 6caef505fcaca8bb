"""`create_app` mounted into another app, whose process runs no lifespan of it."""

import asyncio
import sys
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest, StreamResponse

from tests.support.calls import REST, Caller, http_client
from tests.support.processes import Process, accepts, free_port
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

# Seconds without a byte after which the official client gives up, and one more.
SILENCE = 6


@asynccontextmanager
async def mounted_server(
    folder: Path, temporal: TemporalServer
) -> AsyncGenerator[tuple[Process, str]]:
    port = free_port()
    module = "tests.support.mounted_server"
    command = [sys.executable, "-m", module, str(port), temporal.address]
    server = Process("mounted", command, env={}, log=folder / "mounted.log")
    server.start()
    try:
        await eventually(lambda: accepts(port), within=30, what="the server")
        yield server, f"http://127.0.0.1:{port}/agents/scripted"
    finally:
        await server.put_away()


async def test_a_mounted_app_pings_its_silent_streams_and_lets_its_process_end(
    temporal: TemporalServer, tmp_path: Path
) -> None:
    context_id = str(uuid.uuid4())
    async with (
        mounted_server(tmp_path, temporal) as (server, url),
        httpx.AsyncClient(trust_env=False) as impatient,
        http_client() as patient,
    ):
        card = await A2ACardResolver(impatient, url).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=impatient)).create(card)
        events = client.send_message(SendMessageRequest(message=_message(context_id)))
        first = await within(30, anext(events), what="the task")
        assert first.task.context_id == context_id

        caller = Caller(http=patient, url=url, binding=REST)
        blocked = asyncio.create_task(caller.send("wait for me", context_id=context_id))
        silent = asyncio.create_task(_next(events))
        done, _ = await asyncio.wait({blocked, silent}, timeout=SILENCE)
        assert not done, done

        server.terminate()
        assert await server.exited(within=10) in (0, -15)
        assert await within(5, silent, what="the end of the stream") is None
        await asyncio.gather(blocked, return_exceptions=True)
        assert "Traceback" not in server.output(), server.output()


async def _next(events: AsyncIterator[StreamResponse]) -> StreamResponse | None:
    return await anext(events, None)


def _message(context_id: str) -> Message:
    return Message(
        message_id=str(uuid.uuid4()),
        role=Role.ROLE_USER,
        context_id=context_id,
        parts=[Part(text="hello")],
    )
