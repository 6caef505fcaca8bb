"""A message to a task that waits sets it to work: it shows no more what the message answers."""

import pytest
from a2a.types.a2a_pb2 import TaskState

from a2a_temporal._log.entries import Entry
from a2a_temporal._log.fold import fold, with_message
from tests.unit.log.building import (
    AUTH_REQUIRED,
    INPUT_REQUIRED,
    WORKING,
    batch,
    emitted,
    folded,
    sent,
    status,
    user_message,
)

ASKS = [INPUT_REQUIRED, AUTH_REQUIRED]


@pytest.mark.parametrize("state", ASKS)
@pytest.mark.parametrize("by", ["agent", "workflow"])
def test_an_answered_task_is_at_work(state: TaskState, by: str) -> None:
    asked = status(state, "a1")
    entry: Entry = batch(1, 1, 1, asked, done=True) if by == "agent" else emitted(asked)
    log = folded(entry)
    before = log.task.status.timestamp.ToNanoseconds()
    fold(log, sent("m2"))
    assert log.task.status.state == WORKING
    assert not log.task.status.HasField("message")
    assert [each.message_id for each in log.task.history] == ["m1", "a1", "m2"]
    assert log.task.status.timestamp.ToNanoseconds() >= before
    assert log.settled(1)
    assert not log.settled(2)


@pytest.mark.parametrize("state", ASKS)
def test_what_a_stream_begins_with_shows_no_answered_question(state: TaskState) -> None:
    log = folded(batch(1, 1, 1, status(state, "a1"), done=True))
    assert with_message(log.copy_task(), user_message("m2")).status.state == WORKING


def test_a_repeated_message_answers_no_later_question() -> None:
    log = folded(sent("m2"), batch(2, 1, 1, status(INPUT_REQUIRED, "a1")))
    fold(log, sent("m2"))
    assert log.task.status.state == INPUT_REQUIRED
