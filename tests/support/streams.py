"""Streams of a request handler, read in the background or one event at a time."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from a2a.server.events import Event
from a2a.types.a2a_pb2 import Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent

from tests.support.waiting import eventually, within


class Watched:
    """What a stream has brought so far."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.ended = False
        self.ended_at = 0.0
        self.failure: BaseException | None = None

    async def read(self, stream: AsyncIterator[Event]) -> None:
        """Read a stream to its end."""
        try:
            async for event in stream:
                self.events.append(event)
        except Exception as error:
            self.failure = error
        else:
            self.ended_at = time.monotonic()
            self.ended = True

    async def until(self, number: int, *, within: float = 20) -> None:
        """Wait for so many events; raises what the stream raises."""

        def look() -> bool:
            self._raise()
            return len(self.events) >= number

        await eventually(look, within=within, what=f"event {number} of {self}")

    async def end(self, *, within: float = 30) -> None:
        """Wait for the end of the stream; raises what the stream raises."""

        def look() -> bool:
            self._raise()
            return self.ended

        await eventually(look, within=within, what=f"the end of {self}")

    def _raise(self) -> None:
        if self.failure is not None:
            raise self.failure

    @property
    def last_state(self) -> str:
        """The state that the stream has told last."""
        states = [
            event.status.state
            for event in self.events
            if isinstance(event, (Task, TaskStatusUpdateEvent))
        ]
        return TaskState.Name(states[-1]) if states else ""

    @property
    def chunks(self) -> list[str]:
        """The texts of the artifact chunks that a client of this stream holds at its end."""
        texts: list[str] = []
        for event in self.events:
            if isinstance(event, Task):
                texts = [part.text for each in event.artifacts for part in each.parts]
            elif isinstance(event, TaskArtifactUpdateEvent):
                texts += [part.text for part in event.artifact.parts]
        return texts

    def __repr__(self) -> str:
        kinds = [type(event).__name__ for event in self.events]
        return f"Watched({kinds}, ended={self.ended}, failure={self.failure!r})"


@asynccontextmanager
async def watching(stream: AsyncGenerator[Event]) -> AsyncGenerator[Watched]:
    """Read a stream in the background for as long as the block lasts."""
    watched = Watched()
    async with aclosing(stream):
        reading = asyncio.create_task(watched.read(stream))
        try:
            yield watched
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def next_of(stream: AsyncIterator[Event], *, seconds: float = 20) -> Event:
    """Read one event."""
    return await within(seconds, anext(stream), what="the next event of a stream")
