"""A cancel that need not wait for a heartbeat, because workflow and agent share a process.

Temporal tells an activity of its cancel with the answer to a heartbeat, which may be a second away.
As a rule the turn runs on the very worker that holds its workflow, and that may tell it at once: a
cancel is durable before a workflow sees it. Elsewhere, the heartbeat is how it arrives.
"""

import asyncio
import contextlib
from collections.abc import Callable, Generator

_turns: dict[str, Callable[[], object]] = {}


@contextlib.contextmanager
def hearing(run_id: str) -> Generator[asyncio.Event]:
    """Yield what is set when the turn of a workflow run, which this block runs, is to end."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()

    def tell() -> None:
        # Workflow code runs in threads of its own.
        loop.call_soon_threadsafe(told.set)

    _turns[run_id] = tell
    try:
        yield told
    finally:
        if _turns.get(run_id) is tell:
            del _turns[run_id]


def tell_turn_of(run_id: str) -> None:
    """Tell the turn of a workflow run to end, if it runs in this process."""
    tell = _turns.get(run_id)
    if tell is not None:
        tell()
