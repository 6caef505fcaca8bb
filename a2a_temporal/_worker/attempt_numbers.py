"""Which number an attempt has in the log, where Temporal may have begun to count anew.

An operator can reset an activity: its next attempt is the first again. The log counts on, because
what an attempt of a lower number says there is ignored.
"""

from datetime import timedelta

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._reconnecting import reconnecting

_RPC_TIMEOUT = timedelta(seconds=10)


def is_the_first() -> bool:
    """Say whether the calling activity has made no attempt before, as Temporal has never waited."""
    info = activity.info()
    return info.attempt == 1 and info.current_attempt_scheduled_time == info.scheduled_time


async def number_after(last: int, counted: int) -> int:
    """Return the number of the calling attempt.

    Where Temporal has given it up meanwhile, it ends here: it may not silence its successor.

    Args:
        last: The last attempt that has said something, according to the log; 0 for none.
        counted: What Temporal counts.
    """
    if counted > last:
        return counted
    if not await _is_still_wanted():
        activity.raise_complete_async()  # its successor completes the activity
    return last + 1


async def _is_still_wanted() -> bool:
    """Say whether the calling attempt is the one that Temporal waits for."""
    info = activity.info()
    handle = activity.client().get_async_activity_handle(task_token=info.task_token)
    known = info.heartbeat_details  # which a heartbeat without would erase
    try:
        await reconnecting(lambda: handle.heartbeat(*known, rpc_timeout=_RPC_TIMEOUT))
    except AsyncActivityCancelledError:
        pass  # the attempt is told so by itself
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True
