"""Each stream event of a task has a number: never one that another has, never a lower one."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from a2a_temporal._log.entries import Entry, ResetEntry, parse_signal
from a2a_temporal._log.fold import fold
from a2a_temporal._log.state import LogState
from a2a_temporal._log.wire import MESSAGE_SIGNAL
from tests.unit.log.building import (
    INPUT_REQUIRED,
    WORKING,
    batch,
    chunk,
    clock,
    folded,
    logs,
    sent,
    status,
    through_continue_as_new,
)


def _numbers(state: LogState, log: list[Entry]) -> list[int]:
    """Fold entries and return the number of each event that they make."""
    numbers: list[int] = []
    for entry in log:
        before = state.generation
        made = fold(state, entry)
        assert state.generation == before + len(made)
        numbers += range(before + 1, state.generation + 1)
    return numbers


@given(logs, st.data())
def test_events_are_numbered_from_the_task_on_across_runs(
    log: list[Entry], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(log)))
    state = folded()
    assert state.generation == 1
    numbers = _numbers(state, log[:cut])
    numbers += _numbers(through_continue_as_new(state), log[cut:])
    assert numbers == list(range(2, len(numbers) + 2))


@given(logs, st.lists(logs, min_size=1, max_size=3), st.data())
def test_no_number_is_used_again_after_resets(
    log: list[Entry], continuations: list[list[Entry]], data: st.DataObject
) -> None:
    """An operator may reset any earlier run, again and again, to any place in it."""
    reader, worker = folded(), folded()
    logs_of_runs, highest = [log], max([1, *_numbers(reader, log)])
    for number, continuation in enumerate(continuations, start=1):
        again = data.draw(st.sampled_from(logs_of_runs))
        kept = again[: data.draw(st.integers(0, len(again)))]
        reset = ResetEntry(clock(100 * number))
        reader, worker = folded(*kept, reset), folded(*kept)
        assert reader.terminal or reader.generation > highest
        numbers = _numbers(reader, continuation)
        assert all(each > highest for each in numbers)
        highest = max([highest, reader.generation if not reader.terminal else 0, *numbers])
        logs_of_runs.append([*kept, reset, *continuation])
        for entry in continuation:
            fold(worker, entry)
        assert worker.counted == reader.counted  # by which both judge a message
        worker.skipped = clock(100 * number + 1).ToMicroseconds()  # as the workflow notes a reset
        next_run = through_continue_as_new(worker)
        assert next_run.generation > highest or next_run.terminal
        assert _numbers(next_run, [sent("later"), batch(1, 9, 1, chunk("x", "a"))]) == sorted(
            range(worker.generation + 1, next_run.generation + 1)
        )


def test_a_task_shown_anew_has_a_number_of_its_own() -> None:
    state = folded()
    assert _numbers(state, [batch(1, 1, 1, chunk("x", "half"))]) == [2]
    assert _numbers(state, [batch(1, 2, 1, chunk("x", "whole"))]) == [3, 4]  # the Task, the chunk


def test_a_message_for_another_generation_changes_nothing() -> None:
    asked = folded(batch(1, 1, 1, status(WORKING), status(INPUT_REQUIRED, "which?"), done=True))
    assert asked.generation == 3
    for generation, turns in ((2, 1), (4, 1), (3, 2), (3, 2)):
        message_id = f"for-{generation}-{asked.generation}"
        fold(asked, replace(sent(message_id), if_generation_match=generation))
        assert asked.turns == turns
    assert asked.task.status.state == WORKING


def test_the_generation_of_a_message_is_read_from_its_entry() -> None:
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
    for value, generation in ((None, None), (7, 7)):
        entry = parse_signal(MESSAGE_SIGNAL, {"message": message, "if_generation_match": value})
        assert getattr(entry, "if_generation_match", "malformed") == generation
    malformed = {"message": message, "if_generation_match": "soon"}
    assert parse_signal(MESSAGE_SIGNAL, malformed) is None
