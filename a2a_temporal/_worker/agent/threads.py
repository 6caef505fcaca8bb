"""Threads that a turn's code starts through its event loop: a cancel cannot stop them.

``asyncio.to_thread`` and ``run_in_executor(None, ...)`` use the loop's default executor. The one
put in its place here is the same but for noting what the calling turn has started.
"""

import asyncio
import contextlib
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_started: contextvars.ContextVar["set[Future[Any]]"] = contextvars.ContextVar("a2a_threads")


class _NotingExecutor(ThreadPoolExecutor):
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        future = super().submit(fn, *args, **kwargs)
        with contextlib.suppress(LookupError):
            started = _started.get()
            started.add(future)
            future.add_done_callback(started.discard)
        return future


def note_threads() -> None:
    """Note from now on what turns start in threads; an executor that the program set is kept."""
    loop = asyncio.get_running_loop()
    if getattr(loop, "_default_executor", None) is None:
        loop.set_default_executor(_NotingExecutor(thread_name_prefix="asyncio"))


class TurnThreads:
    """The threads that one turn's code has started. Make it where the turn begins."""

    def __init__(self) -> None:
        self._running: set[Future[Any]] = set()
        _started.set(self._running)

    @property
    def running(self) -> bool:
        """Whether there is one that still runs."""
        return bool(self._running)

    async def ended(self) -> None:
        """Wait until none runs any more."""
        while running := [asyncio.wrap_future(each) for each in list(self._running)]:
            for each in running:
                each.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.wait(running)
