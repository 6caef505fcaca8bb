"""The first terminal entry wins."""

from collections.abc import Callable
from typing import Any

import pytest
from a2a.types.a2a_pb2 import Part
from hypothesis import given

from a2a_temporal import PlainWorkflow
from a2a_temporal._log.entries import CloseEntry, CloseKind, Entry
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.state import TERMINAL_STATES, begin
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
    started,
    status,
)


def _nested(levels: int) -> object:
    value: object = "core"
    for _ in range(levels):
        value = [value]
    return value


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
        ("half \ud83d a character", "half ? a character"),
        (float("inf"), "Infinity"),
        ({"mean": float("nan")}, '{"mean": NaN}'),
        (10**400, str(10**400)),
        ([10**5000], "The result cannot be shown."),
        (_nested(60), "[" * 60 + '"core"' + "]" * 60),
    ],
)
def test_a_result_becomes_an_artifact_even_where_json_cannot_hold_it(
    result: object, text: str
) -> None:
    for render in (None, PlainWorkflow("any").result):
        state = begin(started())
        state.render_result = render
        fold(state, CloseEntry("completed", clock(1), result))
        assert artifact_texts(state) == {"result": text}
        assert to_json(state.task)


def _raising(result: Any) -> list[Part]:
    return [Part(text=result["no such key"])]


def _not_json(_: Any) -> list[Part]:
    part = Part(text="mean")
    part.metadata["mean"] = float("nan")
    return [part]


def _no_parts(_: Any) -> list[Part]:
    return ["text"]  # pyright: ignore[reportReturnType] # what an author may do


def _too_deep(_: Any) -> list[Part]:
    part = Part()
    value = part.data
    for _ in range(60):
        value = value.list_value.values.add()
    return [part]


@pytest.mark.parametrize("render", [_raising, _not_json, _no_parts, _too_deep])
def test_a_result_that_its_renderer_cannot_render_is_shown_as_it_is(
    render: Callable[[Any], list[Part]], caplog: pytest.LogCaptureFixture
) -> None:
    state = begin(started())
    state.render_result = render
    fold(state, CloseEntry("completed", clock(1), {"sum": 3}))
    assert state.task.status.state == COMPLETED
    assert to_json(state.task.artifacts[0])["parts"] == [{"data": {"sum": 3.0}}]
    assert "task" in caplog.text


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
