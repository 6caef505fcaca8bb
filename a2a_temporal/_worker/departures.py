"""Activities that have left: their last entry told the workflow that nobody is to wait for them."""

import asyncio
import contextlib
import logging
from datetime import timedelta

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._reconnecting import reconnecting

logger = logging.getLogger("a2a_temporal.agent")

_RPC_TIMEOUT = timedelta(seconds=10)


class Departures:
    """Completes activities that have left, should their workflow not have closed meanwhile.

    It has as a rule, within milliseconds. But its workflow task may be with a worker that was just
    killed, and what was signaled since is in the history only once that has timed out. Temporal
    would miss the activity's heartbeats first and have the turn run again.

    Args:
        after: How long a workflow may take to close before Temporal is told.
    """

    def __init__(self, after: timedelta) -> None:
        self._after = after.total_seconds()
        self._hurry = asyncio.Event()
        self._leaving: set[asyncio.Task[None]] = set()

    def add(self, result: object) -> None:
        """Let the calling activity go; it is to end by ``activity.raise_complete_async``."""
        handle = activity.client().get_async_activity_handle(task_token=activity.info().task_token)

        async def leave() -> None:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), self._after)
            try:
                await reconnecting(lambda: handle.complete(result, rpc_timeout=_RPC_TIMEOUT))
            except AsyncActivityCancelledError:
                pass
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:
                    logger.warning("A turn could not be reported as over: %s", error)

        leaving = asyncio.create_task(leave())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    async def flush(self) -> None:
        """Tell Temporal of all at once, as the worker is about to stop."""
        self._hurry.set()
        await asyncio.gather(*self._leaving)
        self._hurry.clear()
