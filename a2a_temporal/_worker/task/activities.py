"""Activities of task workflows, at the worker: heartbeats for cancels, and failures that are final.

Temporal delivers a cancel with the answer to a heartbeat. The workflow's half is ``outbound.py``.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ActivityOutboundInterceptor,
    ExecuteActivityInput,
)

from a2a_temporal._log import wire
from a2a_temporal._worker.agent.attempt import heartbeats
from a2a_temporal._worker.failures import storable, tellable
from a2a_temporal.errors import PublicError


class TaskActivityInboundInterceptor(ActivityInboundInterceptor):
    """Heartbeats for activities whose workflow asks for it; makes a ``PublicError`` final.

    Args:
        next: The next interceptor.
        interval: The time between two heartbeats.
    """

    def __init__(self, next: ActivityInboundInterceptor, interval: timedelta) -> None:
        super().__init__(next)
        self._interval = interval
        self._outbound: _LastDetails | None = None

    def init(self, outbound: ActivityOutboundInterceptor) -> None:
        """Keep the details of the activity's own heartbeats."""
        self._outbound = _LastDetails(outbound)
        super().init(self._outbound)

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        """Run the activity."""
        try:
            outbound = self._outbound
            if outbound is None or wire.HEARTBEATS_HEADER not in input.headers:
                return await super().execute_activity(input)
            outbound.details = activity.info().heartbeat_details
            async with heartbeats(self._interval, lambda: outbound.details):
                return await super().execute_activity(input)
        except PublicError as error:
            raise ApplicationError(
                storable(error.text), type=PublicError.__name__, non_retryable=True
            ) from tellable(error)


class _LastDetails(ActivityOutboundInterceptor):
    """Keeps the details of the last heartbeat, which those of the interceptor repeat."""

    details: Sequence[Any] = ()

    def heartbeat(self, *details: Any) -> None:
        self.details = details
        super().heartbeat(*details)
