"""Percentiles, and sides measured in turn so that the machine's moods hit all of them alike."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

Operation = Callable[[], Awaitable[object]]


def percentile(values: Sequence[float], fraction: float) -> float:
    """Return the value below which ``fraction`` of the sorted values lie."""
    if not values:
        raise ValueError("No values were measured.")
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * fraction), len(ordered) - 1)]


def p50(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


def p95(values: Sequence[float]) -> float:
    return percentile(values, 0.95)


async def timed(operation: Operation) -> float:
    """Return how many milliseconds the operation took."""
    began = time.perf_counter()
    await operation()
    return (time.perf_counter() - began) * 1e3


async def in_turn(
    sides: Mapping[str, Operation], *, rounds: int, clients: int, pause: float
) -> dict[str, list[list[float]]]:
    """Measure the sides round by round, each round in another order.

    Args:
        sides: What to measure, by name.
        rounds: How often each side is measured.
        clients: How many calls of a side run at once.
        pause: Seconds of rest after each side, in which what it left to the worker is finished.

    Returns:
        By side, one list for each round: the milliseconds of the round's calls.
    """
    names = list(sides)
    samples: dict[str, list[list[float]]] = {name: [] for name in names}
    for number in range(rounds):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            calls = await asyncio.gather(*(timed(sides[name]) for _ in range(clients)))
            samples[name].append(calls)
            await asyncio.sleep(pause)
    return samples
