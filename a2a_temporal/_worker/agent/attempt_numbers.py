"""Which number an attempt has in the log, where Temporal may have begun to count anew.

An operator can reset an activity: its next attempt is the first again. The log counts on, because
what an attempt of a lower number says there is ignored.
"""

from datetime import timezone

from temporalio import activity
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import Gateway

_BETWEEN_ATTEMPTS = (
    PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED,
    PendingActivityState.PENDING_ACTIVITY_STATE_PAUSED,
)


class CountedAttempt:
    """The calling attempt at an activity, as Temporal counts it.

    It is made in the activity; what it says later it says anywhere, as to a thread that has no
    context of an activity.

    Attributes:
        counted: What Temporal counts.
        is_the_first: No attempt was made before, as Temporal has never waited.
    """

    def __init__(self) -> None:
        info = activity.info()
        self.counted = info.attempt
        self.is_the_first = (
            info.attempt == 1 and info.current_attempt_scheduled_time == info.scheduled_time
        )
        self._activity_id = info.activity_id
        self._started = info.started_time
        self._client = activity.client()
        self._workflow_id = info.workflow_id or ""
        self._run_id = info.workflow_run_id or ""

    async def number_after(self, last: int, counted: int) -> int:
        """Return the number of the attempt.

        Where Temporal has given it up meanwhile, it ends here: it may not silence its successor.

        Args:
            last: The last attempt that has said something, according to the log; 0 for none.
            counted: What Temporal counts, and the attempts of activities before this one.

        Raises:
            temporalio.service.RPCError: Temporal did not answer.
        """
        if counted > last:
            return counted
        if not await self._is_still_wanted():
            activity.raise_complete_async()  # its successor completes the activity
        return last + 1

    async def _is_still_wanted(self) -> bool:
        """Say whether the attempt is the one that Temporal waits for.

        A heartbeat would tell as well, but it would write over the details of the author's own.
        """
        try:
            found = await Gateway(self._client).describe(self._workflow_id, self._run_id)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            return False
        return any(
            pending.activity_id == self._activity_id
            and pending.state not in _BETWEEN_ATTEMPTS
            and pending.last_started_time.ToDatetime(tzinfo=timezone.utc) == self._started
            for pending in found.pending_activities
        )
