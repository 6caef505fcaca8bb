"""How much is measured: enough for a stable median, or enough for a first look."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Numbers of rounds, events and tasks."""

    quick: bool
    send_rounds: int
    burst_rounds: int
    burst_pause: float
    stream_rounds: int
    stream_events: int
    read_tasks: int
    parked_tasks: int
    answers: int
    other_requests: int


FULL = Effort(
    quick=False,
    send_rounds=60,
    burst_rounds=12,
    burst_pause=1.0,
    stream_rounds=3,
    stream_events=60,
    read_tasks=120,
    parked_tasks=5_000,
    answers=200,
    other_requests=100,
)
QUICK = Effort(
    quick=True,
    send_rounds=15,
    burst_rounds=3,
    burst_pause=0.5,
    stream_rounds=1,
    stream_events=30,
    read_tasks=40,
    parked_tasks=300,
    answers=20,
    other_requests=20,
)
