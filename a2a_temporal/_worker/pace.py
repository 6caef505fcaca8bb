"""How often batches leave: so seldom in the end that a day of them fits into one history."""

import time
from datetime import timedelta

_DOUBLING_BATCHES = 650
_SAVED_BATCHES = 4


class Pace:
    """When the next batch of a turn, or of an activity that publishes, is due.

    Args:
        interval: The pause between the first batches.
        sent: How many batches earlier attempts have sent.

    Attributes:
        sent: How many were sent in all. Temporal counts the signals of a run, whose attempts are
            in it together.
    """

    def __init__(self, interval: timedelta, *, sent: int = 0) -> None:
        self.sent = sent
        self._interval = interval.total_seconds()
        self._due = 0.0

    @property
    def left(self) -> float:
        """Return in how many seconds the next batch is due."""
        return self._due - time.monotonic()

    def count(self) -> None:
        """Count a batch that leaves now.

        Time not used is saved up for a few batches, so that events leave at once unless the agent
        is faster than the interval for a while.
        """
        self.sent += 1
        pause = self.pause_after(self.sent)
        self._due = max(self._due + pause, time.monotonic() - _SAVED_BATCHES * pause)

    def pause_after(self, batches: int) -> float:
        """Return the pause in seconds that follows a turn's n-th batch, of all its attempts.

        Each batch is a signal and costs four events of history, and Temporal takes 10,000 and
        51,200 of them: the pause doubles so often that a day of streaming fits, with room for a
        thousand batches that did not wait, the turns before in this run, and messages that come.
        """
        return self._interval * 2 ** (batches / _DOUBLING_BATCHES)
