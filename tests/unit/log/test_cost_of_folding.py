"""Folding costs time in proportion to what is folded."""

import time
from collections.abc import Callable

import pytest

from a2a_temporal._log.entries import Entry
from a2a_temporal._log.fold import fold
from a2a_temporal._log.state import begin
from tests.unit.log.building import INPUT_REQUIRED, batch, chunk, sent, started, status

SMALL, LARGE = 1_000, 8_000


def seconds(log: list[Entry]) -> float:
    """The shortest of three measurements."""

    def once() -> float:
        state = begin(started())
        before = time.process_time()
        for entry in log:
            fold(state, entry)
        return time.process_time() - before

    return min(once() for _ in range(3))


def one_artifact(chunks: int) -> list[Entry]:
    text = "x" * 500
    return [batch(1, 1, i + 1, chunk("x", text, append=True)) for i in range(chunks)]


def appended_in_two_attempts(chunks: int) -> list[Entry]:
    again = [batch(1, 2, i + 1, chunk("x", "a", append=True)) for i in range(chunks)]
    return [*one_artifact(chunks), *again]


def many_turns(turns: int) -> list[Entry]:
    log: list[Entry] = [batch(1, 1, 1, chunk("big", "x" * 1_000_000))]
    for turn in range(2, turns + 2):
        log += [sent(f"m{turn}"), batch(turn, 1, 1, chunk(f"x{turn % 7}", "a"))]
        log.append(batch(turn, 1, 2, status(INPUT_REQUIRED, f"a{turn}")))
    return log


@pytest.mark.parametrize("shape", [one_artifact, appended_in_two_attempts, many_turns])
def test_a_log_eight_times_as_long_costs_nowhere_near_the_square(
    shape: Callable[[int], list[Entry]],
) -> None:
    ratio = seconds(shape(LARGE)) / seconds(shape(SMALL))
    assert ratio < 24, f"8 times the log cost {ratio:.0f} times the time"
