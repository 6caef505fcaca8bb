"""Bounded waits. Nothing in the tests sleeps for a fixed time and hopes."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

T = TypeVar("T")

POLL = 0.05


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
    deadline = time.monotonic() + within
    while True:
        try:
            found = look()
            seen = cast("T", await found if inspect.isawaitable(found) else found)
            if seen:
                return seen
            last = repr(seen)
        except (AssertionError, ConnectionError) as error:
            last = f"{type(error).__name__}: {error}"
        if time.monotonic() >= deadline:
            name = what or getattr(look, "__name__", "the condition")
            raise AssertionError(f"{name} did not come true within {within} s; last: {last}")
        await asyncio.sleep(every)


async def within(seconds: float, awaitable: Awaitable[T], *, what: str = "") -> T:
    """Await something that must be over in time.

    Raises:
        AssertionError: It was not.
    """
    try:
        return await asyncio.wait_for(awaitable, seconds)
    except asyncio.TimeoutError:
        raise AssertionError(f"{what or 'this'} took longer than {seconds} s") from None


async def steadily(look: Callable[[], object], *, during: float, every: float = 0.1) -> None:
    """Look again and again for a while; the look asserts what must stay true throughout."""
    deadline = time.monotonic() + during
    while time.monotonic() < deadline:
        found = look()
        if inspect.isawaitable(found):
            await found
        await asyncio.sleep(every)
