"""How long the attempts at a turn have worked: time in which the task waits for people is none."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, cast

from temporalio.service import RPCError

from a2a_temporal._log.state import LogState
from a2a_temporal._reading.decode import LogUnreadableError
from a2a_temporal._reading.reader import NoTaskError

logger = logging.getLogger("a2a_temporal.agent")

_WORKED = "worked"
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0


class WorkingTime:
    """The working time of one attempt, with that of the attempts before it.

    Args:
        spent: Seconds that earlier attempts have worked.
        asks: Returns for how many seconds the attempt itself has asked a person by now.
        waited: Milliseconds that the task had waited, by its log, when the attempt began.
        read: Reads the log of the task.
    """

    def __init__(
        self,
        *,
        spent: float,
        asks: Callable[[], float],
        waited: int,
        read: Callable[[], Awaitable[LogState]],
    ) -> None:
        self._spent = spent
        self._asks = asks
        self._waited_before = waited
        self._read = read
        self._began = asyncio.get_running_loop().time()
        self._waited = 0.0

    @property
    def worked(self) -> float:
        """The seconds that all attempts have worked."""
        lasted = asyncio.get_running_loop().time() - self._began
        return self._spent + lasted - max(self._asks(), self._waited)

    @property
    def details(self) -> dict[str, float]:
        """What a heartbeat hands on to the next attempt."""
        return {_WORKED: round(self.worked, 3)}

    async def reaches(self, limit: timedelta) -> None:
        """Return once the working time has reached a limit.

        Others than the agent may have the task wait, as the code of a workflow around it. The log
        says so, and is read when it makes a difference.
        """
        total = limit.total_seconds()
        while True:
            pause = total - self.worked
            if pause <= 0:
                pause = await self._learn(total)
            if pause <= 0:
                return
            await asyncio.sleep(max(pause, _SHORTEST_PAUSE))

    async def _learn(self, total: float) -> float:
        """Look into the log; returns how long to wait before the limit can be reached, else 0."""
        try:
            log = await self._read()
        except NoTaskError:
            return 0
        except (LogUnreadableError, RPCError) as error:
            logger.warning("The waiting time of a task could not be read: %r", error)
            return _SHORTEST_PAUSE
        now = datetime.now(timezone.utc)
        self._waited = max(0.0, (log.waited_at(now) - self._waited_before) / 1000)
        left = total - self.worked
        if left > 0 and log.interrupted:
            # It may wait for days.
            return max(left, min(self._waited / 10, _LONGEST_PAUSE))
        return left


def worked_in(details: Sequence[Any]) -> float:
    """Return the working time that an attempt has left in its heartbeat or failure; 0 for none."""
    for each in details:
        if isinstance(each, dict):
            worked = cast("dict[str, Any]", each).get(_WORKED)
            if isinstance(worked, (int, float)):
                return float(worked)
    return 0.0
