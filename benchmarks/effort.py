"""How much is measured: enough for a stable median, or enough for a first look."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Numbers of rounds, events and tasks.

    ``long_polls`` is smaller with fewer tasks, so that most streams go without a poll either way.
    With few tasks each has several streams, or what an allocator keeps would outweigh them.
    """

    quick: bool
    send_rounds: int
    burst_rounds: int
    burst_pause: float
    stream_rounds: int
    stream_events: int
    stream_delay: float
    read_tasks: int
    warm_up_tasks: int
    listed_tasks: int
    push_rounds: int
    parked_tasks: int
    streams_a_task: int
    long_polls: int
    answers: int
    other_requests: int
    burst_chunks: int
    heavy_requests: int
    receiver_tasks: int
    stack_rounds: int
    stack_tasks: int


FULL = Effort(
    quick=False,
    send_rounds=60,
    burst_rounds=12,
    burst_pause=1.0,
    stream_rounds=3,
    stream_events=60,
    stream_delay=1.0,
    read_tasks=120,
    warm_up_tasks=200,
    listed_tasks=10_000,
    push_rounds=40,
    parked_tasks=5_000,
    streams_a_task=1,
    long_polls=200,
    answers=200,
    other_requests=100,
    burst_chunks=5_000,
    heavy_requests=10,
    receiver_tasks=200,
    stack_rounds=6,
    stack_tasks=160,
)
QUICK = Effort(
    quick=True,
    send_rounds=12,
    burst_rounds=5,
    burst_pause=0.2,
    stream_rounds=1,
    stream_events=12,
    stream_delay=0.6,
    read_tasks=40,
    warm_up_tasks=16,
    listed_tasks=150,
    push_rounds=10,
    parked_tasks=130,
    streams_a_task=5,
    long_polls=16,
    answers=6,
    other_requests=5,
    burst_chunks=5_000,
    heavy_requests=3,
    receiver_tasks=40,
    stack_rounds=2,
    stack_tasks=48,
)
