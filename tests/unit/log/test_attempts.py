"""A lost attempt leaves nothing behind once its successor has spoken."""

from hypothesis import given

from a2a_temporal._log.entries import Entry, EventsEntry
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import to_json
from tests.unit.log.building import (
    AUTH_REQUIRED,
    COMPLETED,
    INPUT_REQUIRED,
    WORKING,
    Task,
    agent_says,
    artifact_texts,
    batch,
    chunk,
    emitted,
    folded,
    picture,
    plausible_logs,
    sent,
    spoken,
    status,
)


@given(plausible_logs("bbbbbatm"))
def test_what_lost_attempts_said_is_not_in_the_task(log: list[Entry]) -> None:
    """Dropping every batch of a lost attempt beforehand gives the same artifacts and history.

    Workflow code emits nothing here: what it emits under a running attempt may build on that.
    """
    last = {entry.turn: entry.attempt for entry in log if isinstance(entry, EventsEntry)}
    kept = [
        entry
        for entry in log
        if not isinstance(entry, EventsEntry) or entry.attempt == last[entry.turn]
    ]
    task, expected = folded(*log).task, folded(*kept).task
    assert to_json(Task(artifacts=task.artifacts)) == to_json(Task(artifacts=expected.artifacts))
    assert task.metadata == expected.metadata
    assert _words(task) == _words(expected)


def test_an_older_attempt_is_ignored_once_a_newer_one_has_spoken() -> None:
    state = folded(batch(1, 2, 1, chunk("x", "new")))
    assert fold(state, batch(1, 1, 7, chunk("x", "old"), status(COMPLETED))) == []
    assert artifact_texts(state) == {"x": "new"}
    assert not state.terminal


def test_an_older_turn_is_ignored_once_a_newer_one_has_spoken() -> None:
    state = folded(sent("m2"), batch(2, 1, 1, status(WORKING)))
    assert fold(state, batch(1, 5, 1, status(COMPLETED))) == []
    assert not state.terminal


def test_a_turn_nobody_asked_for_is_ignored() -> None:
    state = folded()
    for turn in (-1, 0, 2):
        assert fold(state, batch(turn, 1, 1, status(COMPLETED))) == []
    assert not state.terminal


def test_artifacts_that_a_lost_attempt_made_are_dropped() -> None:
    state = folded(
        batch(1, 1, 1, chunk("x", "half"), chunk("y", "y")), batch(1, 2, 1, chunk("x", "whole"))
    )
    assert artifact_texts(state) == {"x": "whole"}


def test_artifacts_of_earlier_turns_are_as_they_were_before_the_lost_attempt() -> None:
    state = folded(
        batch(1, 1, 1, chunk("x", "one "), chunk("y", "kept"), done=True),
        sent("m2"),
        batch(2, 1, 1, chunk("x", "lost", append=True), chunk("y", "lost")),
        batch(2, 1, 2, chunk("x", "lost", append=True)),
        batch(2, 2, 1, chunk("x", "two", append=True)),
    )
    assert artifact_texts(state) == {"x": "one two", "y": "kept"}


def test_what_an_attempt_builds_after_two_lost_ones_is_there_once() -> None:
    lost = [batch(1, attempt, 1, chunk("x", "lost")) for attempt in (1, 2)]
    state = folded(*lost, batch(1, 3, 1, chunk("x", "a")), batch(1, 3, 2, chunk("x", "b")))
    assert artifact_texts(state) == {"x": "b"}


def test_messages_of_a_lost_attempt_are_dropped_and_those_of_clients_kept() -> None:
    state = folded(
        batch(1, 1, 1, status(WORKING, "a1")),
        sent("m2"),
        batch(1, 1, 2, status(WORKING, "a2"), status(WORKING, "a3")),
        batch(1, 2, 1, status(WORKING)),
    )
    assert spoken(state.task) == ["m1", "m2"]
    assert not state.task.status.HasField("message")


def test_an_earlier_turns_message_survives_a_lost_attempt_that_used_its_id_again() -> None:
    state = folded(
        batch(1, 1, 1, status(INPUT_REQUIRED, "a1"), done=True),
        sent("m2"),
        batch(2, 1, 1, status(WORKING, "a1"), status(WORKING, "a2")),
        batch(2, 2, 1, status(WORKING)),
    )
    assert spoken(state.task) == ["m1", "a1", "m2"]


def test_a_message_that_a_lost_attempt_said_again_survives_as_the_earlier_turn_said_it() -> None:
    """Also when the earlier turn's words were still those of the status as the attempt began."""
    state = folded(
        sent("m2"),
        batch(1, 1, 1, status(WORKING, "a1")),
        batch(2, 1, 1, status(WORKING), status(WORKING, "a1")),
        batch(2, 2, 1, status(WORKING)),
    )
    assert _words(state.task) == ["m1", "m2", "a1"]


def test_an_earlier_turns_words_are_still_the_status_after_a_lost_attempt() -> None:
    state = folded(
        sent("m2"),
        batch(1, 1, 1, status(WORKING, "a1")),
        batch(2, 1, 1, chunk("x", "a")),
        batch(2, 2, 1, chunk("x", "b")),
    )
    assert state.task.status.message.message_id == "a1"


def test_a_lost_attempt_that_used_a_clients_message_id_takes_no_client_message_away() -> None:
    state = folded(
        batch(1, 1, 1, status(WORKING, "m2"), status(WORKING, "a")),
        sent("m2"),
        batch(1, 2, 1, status(WORKING)),
    )
    assert spoken(state.task) == ["m1", "m2"]
    assert state.task.history[1].parts[0].text == "more"


def test_metadata_of_a_lost_attempt_is_dropped() -> None:
    state = folded(
        batch(1, 1, 1, status(WORKING, k=1), done=True),
        sent("m2"),
        batch(2, 1, 1, status(WORKING, k=2, l=3)),
        batch(2, 2, 1, chunk("x", "a")),
    )
    assert dict(state.task.metadata) == {"k": 1}


def test_a_question_of_a_lost_attempt_is_no_longer_asked() -> None:
    state = folded(batch(1, 1, 1, status(AUTH_REQUIRED, "a1")), batch(1, 2, 1, chunk("x", "a")))
    assert state.task.status.state == WORKING
    assert not state.interrupted


def test_readers_get_the_task_anew_when_something_they_saw_is_dropped() -> None:
    for seen in (
        chunk("x", "a"),
        status(WORKING, "a1"),
        status(WORKING, k=1),
        _task_with_history(),
    ):
        state = folded(batch(1, 1, 1, seen))
        made = fold(state, batch(1, 2, 1, status(WORKING)))
        assert isinstance(made[0], Task), seen
        assert not made[0].artifacts
        assert spoken(made[0]) == ["m1"]


def test_readers_are_not_bothered_when_the_lost_attempt_showed_nothing() -> None:
    state = folded(batch(1, 1, 1, status(WORKING)))
    made = fold(state, batch(1, 2, 1, status(WORKING)))
    assert [type(each) for each in made] == [type(status(WORKING))]


def test_another_attempt_at_a_turn_that_is_over_counts_for_nothing() -> None:
    state = folded(batch(1, 1, 1, chunk("x", "a"), status(INPUT_REQUIRED, "a1"), done=True))
    before = picture(state)
    assert fold(state, batch(1, 2, 1, chunk("x", "b"))) == []
    assert picture(state) == before


def test_a_turn_stays_over_when_the_cancel_hook_still_speaks() -> None:
    state = folded(
        batch(1, 1, 1, status(INPUT_REQUIRED), done=True), batch(1, 1, 2, chunk("x", "cleaned up"))
    )
    assert state.turn_done
    assert artifact_texts(state) == {"x": "cleaned up"}


def test_what_the_workflow_itself_made_survives_a_lost_attempt() -> None:
    state = folded(
        batch(1, 1, 1, chunk("x", "lost")),
        emitted(chunk("w", "kept")),
        batch(1, 2, 1, chunk("x", "new")),
    )
    assert artifact_texts(state) == {"w": "kept", "x": "new"}


def _task_with_history() -> Task:
    return Task(history=[agent_says("a1")])


def _words(task: Task) -> list[str]:
    said = [*task.history, *([task.status.message] if task.status.HasField("message") else [])]
    return [message.message_id for message in said]
