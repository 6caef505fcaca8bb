"""Status timestamps: the entry's own, and never running backwards."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given

from a2a_temporal._log.entries import Entry, entry_time, now_text, parse_time
from a2a_temporal._log.fold import fold
from a2a_temporal._log.state import begin
from tests.unit.log.building import (
    INPUT_REQUIRED,
    WORKING,
    TaskStatusUpdateEvent,
    batch,
    clock,
    emitted,
    folded,
    logs,
    started,
    status,
)


@given(logs)
def test_status_timestamps_never_run_backwards(log: list[Entry]) -> None:
    state = begin(started())
    latest = state.task.status.timestamp.ToNanoseconds()
    for entry in log:
        for event in fold(state, entry):
            if isinstance(event, TaskStatusUpdateEvent):
                assert event.status.timestamp.ToNanoseconds() >= latest
                latest = event.status.timestamp.ToNanoseconds()
        assert state.task.status.timestamp.ToNanoseconds() >= latest


def test_a_status_keeps_the_time_it_says() -> None:
    state = folded(batch(1, 1, 1, status(WORKING, at=3), at=9))
    assert state.task.status.timestamp == clock(3)


def test_a_status_without_a_time_gets_that_of_its_entry() -> None:
    state = folded(batch(1, 1, 1, status(WORKING), at=9))
    assert state.task.status.timestamp == clock(9)


def test_a_worker_whose_clock_is_behind_cannot_turn_the_tasks_clock_back() -> None:
    state = folded(emitted(status(WORKING), at=30), batch(1, 1, 1, status(INPUT_REQUIRED, at=10)))
    assert state.task.status.state == INPUT_REQUIRED
    assert state.task.status.timestamp == clock(30)


def test_a_new_task_has_the_time_of_its_start() -> None:
    assert begin(started()).task.status.timestamp == clock(0)


def test_times_are_written_in_utc_with_milliseconds() -> None:
    berlin = timezone(timedelta(hours=1))
    text = now_text(datetime(2026, 1, 2, 13, 0, 0, 123987, tzinfo=berlin))
    assert text == "2026-01-02T12:00:00.123Z"
    assert parse_time(text).nanos == 123_000_000


@pytest.mark.parametrize("text", ["", "noon", "2026-01-02", "2026-13-02T00:00:00Z"])
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_time(text)


def test_no_status_is_of_a_whole_second_which_json_writes_without_its_milliseconds() -> None:
    noon = datetime(2026, 1, 2, 12, 0, 0, 999, tzinfo=timezone.utc)
    assert parse_time(entry_time(noon)).ToJsonString() == "2026-01-02T12:00:00.001Z"
    later = noon.replace(microsecond=1999)
    assert entry_time(later) == now_text(later) == "2026-01-02T12:00:00.001Z"
