"""Activities of task workflows: a cancel reaches their code, and CANCELED waits until it stopped.

The workflow's half lets a cancel end an activity, and its caller's wait, only when the activity is
over. The worker's half heartbeats, because Temporal tells an activity of a cancel with the answer
to a heartbeat.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from typing import Any, Final, cast

from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import is_cancelled_exception
from temporalio.worker import (
    ActivityInboundInterceptor,
    ActivityOutboundInterceptor,
    ExecuteActivityInput,
    StartActivityInput,
    StartLocalActivityInput,
)
from temporalio.workflow import ActivityCancellationType

from a2a_temporal._log import wire
from a2a_temporal._worker.agent_turns import OPTIONS_FUNCTION
from a2a_temporal._worker.options import AgentOptions

_TRY = ActivityCancellationType.TRY_CANCEL
_WAIT = ActivityCancellationType.WAIT_CANCELLATION_COMPLETED
_OF_AN_AGENT = (wire.RUN_AGENT_ACTIVITY, wire.CANCEL_AGENT_ACTIVITY)

_HEARTBEAT_TIMEOUT: Final = timedelta(minutes=1)
"""Longer than that of agents: code that nobody wrote to heartbeat may block its event loop."""

_HEARTBEATS: Final = Payload(metadata={"encoding": b"json/plain"}, data=b"true")


def waits_for_cancel(input: StartActivityInput | StartLocalActivityInput) -> bool:
    """Have an activity's cancel wait until it is over; False where its author said otherwise.

    One on the workflow's own queue, whose author gave it no heartbeat timeout, is to heartbeat.
    """
    if input.activity in _OF_AN_AGENT or input.cancellation_type != _TRY:
        return False
    input.cancellation_type = _WAIT
    if isinstance(input, StartLocalActivityInput):
        return True
    own_queue = input.task_queue in (None, workflow.info().task_queue)
    if own_queue and input.heartbeat_timeout is None:
        input.heartbeat_timeout = _HEARTBEAT_TIMEOUT
        input.headers = {**input.headers, wire.HEARTBEATS_HEADER: _HEARTBEATS}
    return True


def longest_wait(input: StartActivityInput | StartLocalActivityInput) -> timedelta | None:
    """Return how long a cancel waits for an activity; None for as long as it takes.

    Without a heartbeat timeout nothing says that it can hear of the cancel, or that its worker is
    lost.
    """
    if isinstance(input, StartLocalActivityInput) or input.heartbeat_timeout is not None:
        return None
    return cast("AgentOptions", workflow.extern_functions()[OPTIONS_FUNCTION]()).cancel_timeout


async def until_over(handle: "asyncio.Task[Any]", longest: timedelta | None) -> Any:
    """Wait for an activity; a cancel is let through once it has stopped.

    What it returns in spite of the cancel is dropped: the code that waits for it is to end.
    """
    canceled = False
    while not handle.done():
        try:
            if not canceled or longest is None:
                await asyncio.wait([handle])
                continue
            with contextlib.suppress(asyncio.TimeoutError):
                await workflow.wait_condition(handle.done, timeout=longest)
            break
        except asyncio.CancelledError:
            canceled = True
            handle.cancel()
    if not canceled:
        return handle.result()
    if handle.done() and not handle.cancelled():
        failure = handle.exception()
        if failure is not None and is_cancelled_exception(failure):
            raise failure
    raise asyncio.CancelledError


class TaskActivities(ActivityInboundInterceptor):
    """Heartbeats for the activities that were started to.

    Args:
        next: The next interceptor.
        interval: How often.
    """

    def __init__(self, next: ActivityInboundInterceptor, interval: timedelta) -> None:
        super().__init__(next)
        self._interval = interval.total_seconds()
        self._outbound: _NotedHeartbeats | None = None

    def init(self, outbound: ActivityOutboundInterceptor) -> None:
        """Note what the activity's own heartbeats say."""
        self._outbound = _NotedHeartbeats(outbound)
        super().init(self._outbound)

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        """Run the activity."""
        if self._outbound is None or wire.HEARTBEATS_HEADER not in input.headers:
            return await super().execute_activity(input)
        async with self._heartbeats(self._outbound):
            return await super().execute_activity(input)

    @contextlib.asynccontextmanager
    async def _heartbeats(self, outbound: "_NotedHeartbeats") -> AsyncGenerator[None]:
        outbound.details = activity.info().heartbeat_details

        async def beat() -> None:
            await asyncio.sleep(self._interval / 2)
            while True:
                outbound.next.heartbeat(*outbound.details)
                await asyncio.sleep(self._interval)

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            beating.cancel()


class _NotedHeartbeats(ActivityOutboundInterceptor):
    """Keeps the details of the activity's last heartbeat, which those made here repeat."""

    details: Sequence[Any] = ()

    def heartbeat(self, *details: Any) -> None:
        self.details = details
        super().heartbeat(*details)
