"""Thousands of clients that each hold one event stream open, in a process of their own.

They speak HTTP on bare sockets, so that the machine's time goes to the server and not to them.
"""

from __future__ import annotations

import asyncio
import sys
import time

from benchmarks.processes import allow_open_files, commands, say

_OPEN_FILES = 6_000
_AT_ONCE = 50
_OPENED_WITHIN = 60.0
# Five pings of the server: a stream without a byte for so long is dead, whatever its socket says.
_ALIVE_WITHIN = 15.0
_TERMINAL = b"TASK_STATE_COMPLETED"


class Watcher(asyncio.Protocol):
    """One client with one stream."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self.opened = asyncio.Event()
        self.completed_at: float | None = None
        self.lost = False
        self.heard_at = time.monotonic()
        self._unread: bytes | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(
            f"GET /tasks/{self.task_id}:subscribe HTTP/1.1\r\nHost: localhost\r\n"
            "A2A-Version: 1.0\r\nAccept: text/event-stream\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        self.heard_at = time.monotonic()
        if self._unread is None:
            self._unread = b""
            if not data.startswith(b"HTTP/1.1 200"):
                print(data.decode(errors="replace"), file=sys.stderr)
                self.lost = True
                self.opened.set()
        self._unread += data
        *events, self._unread = self._unread.replace(b"\r\n", b"\n").split(b"\n\n")
        for event in events:
            if b"data:" not in event:
                continue
            self.opened.set()
            if _TERMINAL in event and self.completed_at is None:
                self.completed_at = time.time()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.opened.set()

    @property
    def dropped(self) -> bool:
        """Whether the stream was refused, or ended or fell silent before its task did."""
        silent = time.monotonic() - self.heard_at > _ALIVE_WITHIN
        return self.completed_at is None and (self.lost or silent)


async def _open(task_ids: list[str], port: int) -> list[Watcher]:
    loop = asyncio.get_running_loop()
    gate = asyncio.Semaphore(_AT_ONCE)

    async def open_one(task_id: str) -> Watcher:
        async with gate:
            watcher = Watcher(task_id)
            await loop.create_connection(lambda: watcher, "127.0.0.1", port)
            await asyncio.wait_for(watcher.opened.wait(), _OPENED_WITHIN)
            return watcher

    return await asyncio.gather(*(open_one(task_id) for task_id in task_ids))


async def main(port: int) -> None:
    allow_open_files(_OPEN_FILES)
    watchers: list[Watcher] = []
    say(ready=True)
    async for command in commands():
        if "open" in command:
            watchers += await _open(command["open"], port)
            say(open=len(watchers))
        else:
            completed = {
                watcher.task_id: watcher.completed_at
                for watcher in watchers
                if watcher.completed_at is not None
            }
            say(
                completed=completed,
                done=sum(watcher.completed_at is not None for watcher in watchers),
                dropped=sum(watcher.dropped for watcher in watchers),
            )


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
