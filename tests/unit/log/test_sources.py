"""Activities that publish on their own: each counts its attempts apart, nothing else is lost."""

from dataclasses import replace

from a2a_temporal._log.entries import EventsEntry
from a2a_temporal._log.fold import fold
from tests.unit.log.building import (
    INPUT_REQUIRED,
    WORKING,
    StreamEvent,
    Task,
    artifact_texts,
    batch,
    chunk,
    emitted,
    folded,
    sent,
    spoken,
    status,
)


def published(source: str, attempt: int, sequence: int, *events: StreamEvent) -> EventsEntry:
    return replace(batch(0, attempt, sequence, *events), source=source)


def test_sources_do_not_disturb_each_other_or_the_turn() -> None:
    state = folded(
        batch(1, 1, 1, chunk("agent", "a")),
        published("one", 1, 1, chunk("x", "a")),
        published("two", 3, 1, chunk("y", "b")),
        batch(1, 1, 2, chunk("agent", "b", append=True)),
        published("one", 1, 2, chunk("x", "b", append=True)),
    )
    assert artifact_texts(state) == {"agent": "ab", "x": "ab", "y": "b"}
    assert (state.turn, state.attempt, state.sequence) == (1, 1, 2)


def test_a_batch_published_twice_counts_once() -> None:
    once = published("one", 1, 1, chunk("x", "a", append=True))
    assert artifact_texts(folded(once, once)) == {"x": "a"}


def test_a_lost_attempt_of_a_source_is_dropped_alone() -> None:
    state = folded(
        published("one", 1, 1, chunk("x", "lost"), status(WORKING, "a1", k=1)),
        published("two", 1, 1, chunk("y", "kept"), status(WORKING, "a2", l=2)),
        sent("m2"),
    )
    made = fold(state, published("one", 2, 1, chunk("x", "new", append=True)))
    assert isinstance(made[0], Task)
    assert artifact_texts(state) == {"y": "kept", "x": "new"}
    assert dict(state.task.metadata) == {"l": 2}
    assert spoken(state.task) == ["m1", "a2", "m2"]


def test_an_activity_that_runs_again_after_a_reset_begins_anew() -> None:
    state = folded(
        published("run-1/1", 1, 1, chunk("x", "void", append=True)),
        published("run-1/2", 1, 1, chunk("y", "kept")),
    )
    made = fold(state, published("run-2/1", 1, 1, chunk("x", "new", append=True)))
    assert isinstance(made[0], Task)
    assert artifact_texts(state) == {"y": "kept", "x": "new"}
    assert fold(state, published("run-2/1", 1, 2, chunk("x", "er", append=True)))
    assert artifact_texts(state) == {"y": "kept", "x": "newer"}


def test_what_a_lost_attempt_appended_to_an_earlier_artifact_is_taken_back() -> None:
    state = folded(
        emitted(chunk("x", "before ")),
        published("one", 1, 1, chunk("x", "lost", append=True)),
        published("one", 2, 1, chunk("x", "after", append=True)),
    )
    assert artifact_texts(state) == {"x": "before after"}


def test_a_lost_attempt_leaves_the_workflows_own_question_open() -> None:
    state = folded(
        published("one", 1, 1, chunk("x", "lost")),
        emitted(status(INPUT_REQUIRED, "may I?")),
        published("one", 2, 1, chunk("x", "new")),
    )
    assert state.task.status.state == INPUT_REQUIRED
    assert state.task.status.message.message_id == "may I?"


def test_an_older_attempt_of_a_source_is_ignored() -> None:
    state = folded(published("one", 2, 1, chunk("x", "new")))
    assert fold(state, published("one", 1, 9, chunk("x", "old"))) == []
    assert artifact_texts(state) == {"x": "new"}
