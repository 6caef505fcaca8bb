"""Calls to Temporal that outlive the connection they are made on.

A Temporal frontend closes every connection after a few minutes (``keepAliveMaxConnectionAge``), and
load balancers do the same. A call that meets the close fails with CANCELLED, which Temporal's own
retries do not know.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from temporalio.service import RPCError, RPCStatusCode

_T = TypeVar("_T")

_ATTEMPTS = 4


async def reconnecting(call: Callable[[], Awaitable[_T]]) -> _T:
    """Make a call, and make it again when its connection was closed under it.

    Whether Temporal had it the first time is not known: only for calls that may be made twice.

    Raises:
        temporalio.service.RPCError: Temporal answered, or did not in time.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return await call()
        except RPCError as error:
            if not _met_a_close(error):
                raise
    return await call()


def _met_a_close(error: RPCError) -> bool:
    # A timeout is CANCELLED as well, with another text.
    return error.status == RPCStatusCode.CANCELLED and "operation was canceled" in error.message
