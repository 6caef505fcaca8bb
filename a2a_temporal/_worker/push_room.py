"""The places of a worker's deliveries: receivers that hang must not keep the others waiting."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

_WAIT_SECONDS = 5.0


class PushRoom:
    """So many places, taken in the order of arrival; as many may wait for one.

    Half of them are also for deliveries to receivers that failed last; these do not queue up but
    come again after their next pause, so that the first attempts of others find a place soon.

    Half as many deliveries may wait at the log of a task that is at work.

    Args:
        places: Number of places.
    """

    def __init__(self, places: int) -> None:
        self._places = asyncio.Semaphore(places)
        self._failing = asyncio.Semaphore(max(1, places // 2))
        self._logs_left = max(1, places // 2)
        self._most_waiting = places
        self._waiting = 0

    @asynccontextmanager
    async def place(self, *, failing: bool) -> AsyncGenerator[bool]:
        """Wait a moment for a place and keep it; yields False when there was none."""
        async with AsyncExitStack() as taken:
            yield await self._enter(taken, failing=failing)

    @contextmanager
    def attached(self) -> Generator[bool]:
        """Keep one of the places at the logs; yields False when there is none."""
        if self._logs_left <= 0:
            yield False
            return
        self._logs_left -= 1
        try:
            yield True
        finally:
            self._logs_left += 1

    async def _enter(self, taken: AsyncExitStack, *, failing: bool) -> bool:
        if self._waiting >= self._most_waiting or (failing and self._failing.locked()):
            return False

        async def enter() -> None:
            if failing:
                await taken.enter_async_context(self._failing)
            await taken.enter_async_context(self._places)

        self._waiting += 1
        try:
            await asyncio.wait_for(enter(), _WAIT_SECONDS)
        except asyncio.TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True
