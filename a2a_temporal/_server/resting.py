"""Followers that nobody reads from at the moment, kept for who does next."""

from collections import OrderedDict

from a2a_temporal._server.follower import Follower

_MOST = 500
_MOST_BYTES = 64 * 1024 * 1024


class RestingFollowers:
    """Followers at their places in their logs, without readers and polls."""

    def __init__(self) -> None:
        self._resting: OrderedDict[str, tuple[Follower, int]] = OrderedDict()
        self._bytes = 0

    def put(self, follower: Follower) -> None:
        """Keep a follower; those that have rested longest make room."""
        self._remove(follower.task_id)
        # Also one that has not read all yet: a log that is slow to read is read in several calls.
        if not follower.bytes or follower.finished:
            return
        follower.rest()
        size = follower.bytes
        self._resting[follower.task_id] = follower, size
        self._bytes += size
        while len(self._resting) > _MOST or self._bytes > _MOST_BYTES:
            self._remove(next(iter(self._resting)))

    def take(self, task_id: str, run_id: str) -> Follower | None:
        """Return the follower of a task, which rests no more; ``None`` if it left another run."""
        follower = self._remove(task_id)
        return follower if follower is not None and follower.goes_on_from(run_id) else None

    def _remove(self, task_id: str) -> Follower | None:
        follower, size = self._resting.pop(task_id, (None, 0))
        self._bytes -= size
        return follower
