"""Whatever is delivered twice counts once."""

from hypothesis import given
from hypothesis import strategies as st

from a2a_temporal._log.entries import Entry, EventsEntry, MessageEntry
from a2a_temporal._log.fold import fold
from a2a_temporal._log.state import LogState
from tests.unit.log.building import (
    WORKING,
    artifact_texts,
    batch,
    chunk,
    folded,
    logs,
    picture,
    plausible_logs,
    sent,
    status,
)


@given(plausible_logs(), st.data())
def test_a_repeated_entry_counts_once(log: list[Entry], data: st.DataObject) -> None:
    expected = picture(folded(*log))
    original = data.draw(st.integers(0, len(log) - 1)) if log else 0
    again = data.draw(st.integers(original + 1, len(log))) if log else 0
    repeated = [each for each in log[original : original + 1] if _is_numbered(each)]
    assert picture(folded(*log[:again], *repeated, *log[again:])) == expected


@given(logs)
def test_an_entry_repeated_at_once_counts_once(log: list[Entry]) -> None:
    state = folded()
    for entry in log:
        fold(state, entry)
        before = picture(state)
        if _is_numbered(entry) and _counted(state, entry):
            assert fold(state, entry) == []
            assert picture(state) == before


def test_a_message_sent_again_keeps_its_first_content_and_turn() -> None:
    state = folded(sent("m2", "first"), sent("m3"), sent("m2", "second"))
    texts = [message.parts[0].text for message in state.task.history]
    assert texts == ["hello", "first", "more"]
    assert state.accepted["m2"].turn == 2


def test_a_batch_signaled_twice_appends_once() -> None:
    once = batch(1, 1, 2, chunk("x", "b", append=True))
    state = folded(batch(1, 1, 1, chunk("x", "a")), once, once)
    assert artifact_texts(state) == {"x": "ab"}


def test_a_batch_of_a_number_already_seen_is_ignored_whatever_it_says() -> None:
    state = folded(batch(1, 1, 1, status(WORKING)), batch(1, 1, 1, chunk("x", "a")))
    assert artifact_texts(state) == {}


def _is_numbered(entry: Entry) -> bool:
    return isinstance(entry, (EventsEntry, MessageEntry))


def _counted(state: LogState, entry: Entry) -> bool:
    if isinstance(entry, EventsEntry):
        position = (entry.turn, entry.attempt, entry.sequence)
        return position == (state.turn, state.attempt, state.sequence)
    return True
