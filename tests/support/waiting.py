"""Bounded waits. Nothing in the tests sleeps for a fixed time and hopes.

A bound is in seconds of the machine on which the tests were written. When it passes, the speed of
this machine is measured, and a slower one is given more time in proportion.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from tests.support.machine import slowness

T = TypeVar("T")

POLL = 0.05
_LONGEST = 200.0  # less than the time-out of pytest, which says nothing of what was seen


class Bound:
    """A bound that began when this was made.

    Args:
        seconds: How long it is on the reference machine.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._began = time.monotonic()
        self._ends = self._began + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; 0.0 once the bound has passed."""
        now = time.monotonic()
        if now >= self._ends:
            given = min(self.seconds * slowness(), max(self.seconds, _LONGEST))
            self._ends = max(self._ends, self._began + given)
        return max(0.0, self._ends - now)

    def __str__(self) -> str:
        given = self._ends - self._began
        return f"{self.seconds} s" + (f" ({given:.1f} s here)" if given > self.seconds else "")


async def eventually(
    look: Callable[[], T | Awaitable[T | None] | None],
    *,
    within: float,
    what: str = "",
    every: float = POLL,
) -> T:
    """Look again and again until the result is true, and return it.

    An AssertionError or ConnectionError of the look counts as "not yet".

    Raises:
        AssertionError: It did not come true in time; says what was seen last.
    """
    bound = Bound(within)
    while True:
        try:
            found = look()
            seen = cast("T", await found if inspect.isawaitable(found) else found)
            if seen:
                return seen
            last = repr(seen)
        except (AssertionError, ConnectionError) as error:
            last = f"{type(error).__name__}: {error}"
        if not bound.left:
            name = what or getattr(look, "__name__", "the condition")
            raise AssertionError(f"{name} did not come true within {bound}; last: {last}")
        await asyncio.sleep(every)


async def within(seconds: float, awaitable: Awaitable[T], *, what: str = "") -> T:
    """Await something that must be over in time.

    Raises:
        AssertionError: It was not.
    """
    bound = Bound(seconds)
    awaited = asyncio.ensure_future(awaitable)
    try:
        while not awaited.done() and (left := bound.left):
            await asyncio.wait([awaited], timeout=left)
        if not awaited.done():
            raise AssertionError(f"{what or 'this'} took longer than {bound}")
        return await awaited
    finally:
        if not awaited.done():
            awaited.cancel()
            await asyncio.wait([awaited])


async def steadily(look: Callable[[], object], *, during: float, every: float = 0.1) -> None:
    """Look again and again for a while; the look asserts what must stay true throughout."""
    deadline = time.monotonic() + during
    while time.monotonic() < deadline:
        found = look()
        if inspect.isawaitable(found):
            await found
        await asyncio.sleep(every)
