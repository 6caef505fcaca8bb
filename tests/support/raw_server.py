"""A TCP server of a few lines, that leaves no connection behind."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_server(talk: Talk, *, context: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """Run `talk` with every connection; yield the port."""
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError):
                await talk(reader, writer)
        finally:
            await closed(writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection for good, whatever the other side does."""
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
