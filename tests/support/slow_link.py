"""A connection to a server that is only so fast, and counts what comes back."""

import asyncio
import base64
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.support.raw_server import closed, raw_server

_CHUNK = 16_384


def noise(size: int) -> str:
    """Return a text of about so many bytes that no compression on the way makes smaller."""
    return base64.b85encode(os.urandom(size * 4 // 5)).decode()


@dataclass
class Link:
    """A port in front of another one.

    Attributes:
        port: Where to connect.
        rate: Bytes a second from the server, of all connections together.
        received: Bytes that came from the server.
    """

    port: int
    rate: float
    received: int = 0


@asynccontextmanager
async def slow_link(target_port: int, *, rate: float = float("inf")) -> AsyncGenerator[Link]:
    """Forward a port to another one, no faster than `rate` on the way back."""
    link = Link(0, rate)
    turn = asyncio.Lock()

    async def there(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()

    async def back(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK):
            async with turn:
                due = time.monotonic() + len(data) / link.rate
                link.received += len(data)
                writer.write(data)
                await writer.drain()
                await asyncio.sleep(due - time.monotonic())

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target_reader, target = await asyncio.open_connection("127.0.0.1", target_port)
        try:
            ways = [
                asyncio.ensure_future(there(reader, target)),
                asyncio.ensure_future(back(target_reader, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            await closed(target)

    async with raw_server(talk) as port:
        link.port = port
        yield link
