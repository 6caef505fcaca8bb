"""A log folds the same in one go, in pieces, and across continue-as-new."""

from hypothesis import given
from hypothesis import strategies as st

from a2a_temporal._log.entries import Entry
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import event_to_json
from tests.unit.log.building import (
    WORKING,
    agent_says,
    batch,
    chunk,
    folded,
    logs,
    picture,
    sent,
    status,
    through_continue_as_new,
)


@given(logs, st.data())
def test_a_prefix_and_the_rest_fold_to_what_the_whole_log_folds_to(
    log: list[Entry], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(log)))
    state = folded(*log[:cut])
    for entry in log[cut:]:
        fold(state, entry)
    assert picture(state) == picture(folded(*log))


@given(logs, st.data())
def test_continue_as_new_anywhere_in_a_log_changes_nothing(
    log: list[Entry], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(log)))
    stayed = folded(*log[:cut])
    moved = through_continue_as_new(stayed)
    assert picture(moved) == picture(stayed)
    for entry in log[cut:]:
        streamed = [event_to_json(event) for event in fold(stayed, entry)]
        assert [event_to_json(event) for event in fold(moved, entry)] == streamed
    assert picture(moved) == picture(stayed)


@given(logs)
def test_continue_as_new_after_every_entry_changes_nothing(log: list[Entry]) -> None:
    state = folded()
    for entry in log:
        state = through_continue_as_new(state)
        fold(state, entry)
    assert picture(state) == picture(folded(*log))


def test_a_direct_answer_survives_continue_as_new() -> None:
    state = through_continue_as_new(folded(batch(1, 1, 1, agent_says("r"))))
    assert state.reply is not None
    assert state.reply.message_id == "r"


def test_an_attempt_lost_across_continue_as_new_is_dropped_all_the_same() -> None:
    half_built = folded(sent("m2"), batch(1, 1, 1, status(WORKING, "a1"), chunk("x", "half")))
    state = through_continue_as_new(half_built)
    fold(state, batch(1, 2, 1, chunk("x", "whole")))
    assert [part.text for part in state.task.artifacts[0].parts] == ["whole"]
    assert "a1" not in [message.message_id for message in state.task.history]
