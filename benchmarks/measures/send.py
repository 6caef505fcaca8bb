"""A blocking SendMessage, from the call to the answer, alone and in bursts of 16 clients."""

from __future__ import annotations

from functools import partial

from benchmarks.anchors import bare
from benchmarks.bars import Reading, Readings
from benchmarks.effort import Effort
from benchmarks.stage import TASK_QUEUE, Stage, answered
from benchmarks.stats import Operation, in_turn, p50

_CLIENTS = 16


async def measure(stage: Stage, effort: Effort) -> Readings:
    sides: dict[str, Operation] = {
        "ours": partial(answered, stage.handler),
        "workflow": partial(bare.ask, stage.client, task_queue=TASK_QUEUE),
        "cluster": partial(answered, stage.cluster),
    }
    await in_turn(sides, rounds=5, clients=2, pause=0)
    alone = await in_turn(sides, rounds=effort.send_rounds, clients=1, pause=0.1)
    for anchor in ("workflow", "cluster"):
        yield f"send-1-vs-{anchor}", _alone(alone, anchor)
    together = await in_turn(
        sides, rounds=effort.burst_rounds, clients=_CLIENTS, pause=effort.burst_pause
    )
    for anchor in ("workflow", "cluster"):
        yield f"send-16-vs-{anchor}", _together(together, anchor)


def _alone(samples: dict[str, list[list[float]]], anchor: str) -> Reading:
    return Reading(
        p50([calls[0] for calls in samples["ours"]]),
        p50([calls[0] for calls in samples[anchor]]),
    )


def _together(samples: dict[str, list[list[float]]], anchor: str) -> Reading:
    """Return how long a burst takes until its last client has its answer."""
    single = {
        side: p50([call for calls in samples[side] for call in calls]) for side in ("ours", anchor)
    }
    return Reading(
        p50([max(calls) for calls in samples["ours"]]),
        p50([max(calls) for calls in samples[anchor]]),
        note=(
            "until the last of 16 has its answer; a single call "
            f"{single['ours']:.0f} against {single[anchor]:.0f} ms"
        ),
    )
