"""How slow this machine is now, so that the bounds of tests hold on a slow or busy one too."""

import os
import time

_REFERENCE_SECONDS = 0.12  # what `_work` takes on the machine on which the bounds were written
_SLOWEST = 10.0


def slowness() -> float:
    """Return how many times longer than on the reference machine things take now (1.0 to 10.0).

    The measurement takes 0.12 s of the reference machine and blocks the event loop: make it only
    when a bound has passed.
    """
    began = time.perf_counter()
    _work()
    work = (time.perf_counter() - began) / _REFERENCE_SECONDS
    # A test waits for a chain of processes, each of which waits for a core in turn.
    queue = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(1.0, work, queue), _SLOWEST)


def _work() -> int:
    return sum(number * number % 7 for number in range(3_000_000))
