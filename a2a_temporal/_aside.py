"""Work that takes a while and waits for nothing, done beside the event loop.

In one thread: Python runs one at a time anyway, and with more of them waiting for their turn the
event loop would get its own more seldom.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

LARGE_BYTES = 32 * 1024
"""What is larger is converted aside; what is smaller takes less time than a change of threads."""

_THREAD = ThreadPoolExecutor(1, thread_name_prefix="a2a-temporal-aside")


_LONGEST_SECONDS = 0.01
_gave_way = 0.0


async def give_way() -> None:
    """Let others have the event loop, if nobody has given way here for a while."""
    global _gave_way  # of the one event loop that a process has
    now = time.monotonic()
    if now - _gave_way > _LONGEST_SECONDS:
        _gave_way = now
        await asyncio.sleep(0)


async def aside(work: Callable[..., T], *args: Any) -> T:
    """Return what a function returns, or raise what it raises."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, partial(work, *args))


async def done(size: int, work: Callable[..., T], *args: Any) -> T:
    """Call a function, aside where it works on many bytes."""
    return await aside(work, *args) if size > LARGE_BYTES else work(*args)
