"""The first terminal entry wins."""

import pytest
from hypothesis import given

from a2a_temporal._log.entries import CloseEntry, CloseKind, Entry
from a2a_temporal._log.fold import fold
from a2a_temporal._log.state import TERMINAL_STATES
from tests.unit.log.building import (
    CANCELED,
    COMPLETED,
    FAILED,
    REJECTED,
    WORKING,
    TaskState,
    artifact_texts,
    batch,
    chunk,
    clock,
    emitted,
    folded,
    logs,
    picture,
    sent,
    status,
)


@given(logs, logs)
def test_nothing_changes_after_a_terminal_entry(before: list[Entry], after: list[Entry]) -> None:
    state = folded(*before, emitted(status(CANCELED)))
    ended = picture(state)
    for entry in after:
        assert fold(state, entry) == []
    assert picture(state) == ended


@pytest.mark.parametrize("end", [COMPLETED, FAILED, CANCELED, REJECTED])
def test_a_late_message_is_not_part_of_an_ended_task(end: TaskState) -> None:
    state = folded(batch(1, 1, 1, status(end)), sent("m2"))
    assert "m2" not in state.accepted
    assert [message.message_id for message in state.task.history] == ["m1"]


def test_what_stands_behind_the_terminal_status_in_its_own_batch_does_not_count() -> None:
    state = folded(
        batch(1, 1, 1, chunk("x", "a"), status(COMPLETED), chunk("x", "b"), status(FAILED))
    )
    assert state.task.status.state == COMPLETED
    assert artifact_texts(state) == {"x": "a"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("completed", COMPLETED),
        ("failed", FAILED),
        ("canceled", CANCELED),
        ("terminated", FAILED),
        ("timed_out", FAILED),
    ],
)
def test_the_engine_ends_a_task_that_has_not_ended_itself(
    kind: CloseKind, expected: TaskState
) -> None:
    state = folded(batch(1, 1, 1, status(WORKING)), CloseEntry(kind, clock(9)))
    assert state.task.status.state == expected
    assert state.terminal
    assert state.task.status.timestamp == clock(9)


def test_a_failure_by_the_engine_says_so() -> None:
    state = folded(CloseEntry("terminated", clock(1)))
    assert "terminated" in state.task.status.message.parts[0].text


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("Workflow history size exceeds limit.", "history has reached the limit"),
        ("GrpcMessageTooLarge", "larger than the limit"),
        ("host-17: shard moved", "could not go on"),
    ],
)
def test_a_termination_by_the_engine_is_not_laid_to_an_operator(reason: str, text: str) -> None:
    state = folded(CloseEntry("terminated", clock(1), reason=reason))
    said = state.task.status.message.parts[0].text
    assert text in said
    assert "operator" not in said
    assert "host-17" not in said


@pytest.mark.parametrize("kind", ["completed", "failed", "canceled", "terminated", "timed_out"])
def test_the_engine_does_not_overrule_a_terminal_entry(kind: CloseKind) -> None:
    state = folded(batch(1, 1, 1, status(REJECTED)))
    assert fold(state, CloseEntry(kind, clock(1), "result")) == []
    assert state.task.status.state == REJECTED


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("plain", "plain"),
        (float("inf"), "Infinity"),
        (10**400, str(10**400)),
    ],
)
def test_a_result_becomes_an_artifact_even_where_json_cannot_hold_it(
    result: object, text: str
) -> None:
    state = folded(CloseEntry("completed", clock(1), result))
    assert artifact_texts(state) == {"result": text}


def test_a_result_of_an_object_becomes_a_data_part() -> None:
    state = folded(CloseEntry("completed", clock(1), {"sum": 3}))
    assert state.task.artifacts[0].parts[0].data.struct_value["sum"] == 3


def test_every_state_is_terminal_or_not_as_the_specification_says() -> None:
    assert {TaskState.Name(state) for state in TERMINAL_STATES} == {
        "TASK_STATE_COMPLETED",
        "TASK_STATE_FAILED",
        "TASK_STATE_CANCELED",
        "TASK_STATE_REJECTED",
    }
