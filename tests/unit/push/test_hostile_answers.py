"""A receiver's answer costs its sender next to nothing, whatever the receiver sends."""

import asyncio
import contextlib
import gzip
import time
import tracemalloc
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import lru_cache
from itertools import repeat

import pytest
from a2a.types.a2a_pb2 import TaskPushNotificationConfig, TaskState, TaskStatusUpdateEvent

from a2a_temporal import PushOptions
from a2a_temporal._net import UrlGuard
from a2a_temporal._reading.position import LogPosition
from a2a_temporal._worker.push.notifications import Notification
from a2a_temporal._worker.push.request import NotDeliveredError, Receiver, new_connection

EVENT = TaskStatusUpdateEvent(task_id="t", context_id="c")
EVENT.status.state = TaskState.TASK_STATE_WORKING
NOTIFICATION = Notification(LogPosition("run", 5), LogPosition("run", 5, 1), EVENT, {"c": 1}, "")
OPTIONS = PushOptions(timeout=timedelta(seconds=3))
LITTLE = 2 * 1024 * 1024
"""Bytes that a socket's buffers and a few reads may hold."""

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class Peer:
    """A receiver that answers each request with given pieces, and counts what it got rid of."""

    def __init__(self, pieces: Callable[[], Iterable[bytes]], pause: float) -> None:
        self.pieces = pieces
        self.pause = pause
        self.sent = 0
        self.headers = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            self.headers = await reader.readuntil(b"\r\n\r\n")
            for piece in self.pieces():
                writer.write(piece)
                await writer.drain()
                self.sent += len(piece)
                await asyncio.sleep(self.pause)
            await reader.read()
        writer.close()


@asynccontextmanager
async def told(
    pieces: Callable[[], Iterable[bytes]], *, pause: float = 0
) -> AsyncGenerator[tuple[Peer, Receiver]]:
    peer = Peer(pieces, pause)
    server = await asyncio.start_server(peer.serve, "127.0.0.1")
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    destination = await UrlGuard(["127.0.0.1"]).check(url)
    try:
        async with new_connection(destination) as connection:
            config = TaskPushNotificationConfig(url=url)
            yield peer, Receiver(config, destination, OPTIONS, connection)
    finally:
        server.close()


@lru_cache(maxsize=1)
def bomb() -> bytes:
    """600 MB of nothing, compressed twice."""
    return gzip.compress(gzip.compress(bytes(600 * 1024 * 1024), 1), 9)


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(lambda: [OK + b"Content-Length: 9\r\n\r\n"], id="a body that never comes"),
        pytest.param(lambda: [OK + b"Content-Length: 2\r\n\r\nlonger"], id="a longer body"),
        pytest.param(
            lambda: [OK + b"Content-Length: 99\r\nConnection: close\r\n\r\nx"], id="a shorter body"
        ),
        pytest.param(lambda: [OK + b"\r\n", *repeat(bytes(4096), 10_000)], id="an endless body"),
        pytest.param(
            lambda: [CHUNKED, *repeat(b"1;" + b"x" * 4096, 10_000)], id="an endless extension"
        ),
        pytest.param(
            lambda: [CHUNKED, b"0\r\n", *repeat(b"x: y\r\n", 100_000)], id="endless trailers"
        ),
        pytest.param(lambda: [CHUNKED, *repeat(b"1\r\nx\r\n", 100_000)], id="many chunks"),
        pytest.param(lambda: [CHUNKED, b"zz\r\n"], id="no chunk at all"),
    ],
)
async def test_only_the_status_of_an_answer_counts(pieces: Callable[[], Iterable[bytes]]) -> None:
    async with told(pieces) as (peer, receiver):
        await receiver.send(NOTIFICATION)
        assert peer.sent < LITTLE


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            lambda: repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 10_000), id="endless hints"
        ),
        pytest.param(lambda: [OK, *repeat(b"a: b\r\n" * 100, 10_000)], id="endless headers"),
        pytest.param(lambda: [OK + b"a: ", *repeat(bytes(4096), 10_000)], id="an endless header"),
        pytest.param(lambda: repeat(b"HTTP/1.1 200 " + b"x" * 4096, 10_000), id="endless status"),
        pytest.param(lambda: repeat(b"\r\n" * 1000, 10_000), id="empty lines"),
    ],
)
async def test_an_answer_without_an_end_of_its_headers_is_given_up_early(
    pieces: Callable[[], Iterable[bytes]],
) -> None:
    async with told(pieces) as (peer, receiver):
        began = time.process_time()
        with pytest.raises(NotDeliveredError):
            await receiver.send(NOTIFICATION)
        assert peer.sent < LITTLE
        assert time.process_time() - began < OPTIONS.timeout.total_seconds()


async def test_a_header_that_comes_drop_by_drop_takes_no_longer_than_the_timeout() -> None:
    async with told(lambda: [OK, *repeat(b"x", 10_000)], pause=0.05) as (_, receiver):
        with pytest.raises(NotDeliveredError, match="did not answer within 3 s"):
            await receiver.send(NOTIFICATION)


@pytest.mark.parametrize("encoding", ["gzip, gzip", "zstd"])
async def test_nothing_of_an_answer_is_unpacked(encoding: str) -> None:
    packed = bomb()
    headers = f"Content-Encoding: {encoding}\r\nContent-Length: {len(packed)}\r\n\r\n"
    async with told(lambda: [OK + headers.encode() + packed]) as (peer, receiver):
        tracemalloc.start()
        try:
            await receiver.send(NOTIFICATION)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert most < 10 * LITTLE
        assert b"accept-encoding: identity" in peer.headers.lower()


async def test_an_answer_that_switches_protocols_takes_no_notification() -> None:
    switching = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
    async with told(lambda: [switching, *repeat(bytes(4096), 10_000)]) as (peer, receiver):
        with pytest.raises(NotDeliveredError):
            await receiver.send(NOTIFICATION)
        assert peer.sent < LITTLE
