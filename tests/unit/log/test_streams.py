"""A stream's events, applied to an earlier snapshot, give the later Task.

The reducer is what an A2A client does with a stream, written from the specification alone. Clients'
own messages are not streamed, so what is compared of the history is what the agent said.
"""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from a2a_temporal._log.entries import Entry
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import StreamEvent, event_from_json, event_to_json, to_json
from tests.unit.log.building import (
    WORKING,
    Artifact,
    Message,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
    batch,
    chunk,
    folded,
    logs,
    plausible_logs,
    sent,
    status,
)


def apply(task: Task, event: StreamEvent) -> None:
    """Bring a client's copy of a task up to date."""
    match event:
        case Task():
            task.CopyFrom(event)
        case TaskStatusUpdateEvent():
            if task.status.HasField("message"):
                task.history.append(task.status.message)
            task.status.CopyFrom(event.status)
            task.metadata.MergeFrom(event.metadata)
        case TaskArtifactUpdateEvent():
            _apply_artifact(task, event)
        case Message():
            raise AssertionError("a task's stream holds no Message")


def _apply_artifact(task: Task, event: TaskArtifactUpdateEvent) -> None:
    sent_artifact = event.artifact
    known = [each for each in task.artifacts if each.artifact_id == sent_artifact.artifact_id]
    if event.append:
        assert known, "a client cannot append to an artifact it has never seen"
        known[0].parts.extend(sent_artifact.parts)
        known[0].metadata.MergeFrom(sent_artifact.metadata)
    elif known:
        known[0].CopyFrom(sent_artifact)
    else:
        task.artifacts.append(sent_artifact)


def seen(task: Task) -> dict[str, Any]:
    """What a client of the stream can know of a task."""
    said = [*task.history, *([task.status.message] if task.status.HasField("message") else [])]
    return {
        "state": TaskState.Name(task.status.state),
        "time": task.status.timestamp.ToNanoseconds(),
        "artifacts": [to_json(artifact) for artifact in task.artifacts],
        "metadata": to_json(task.metadata),
        "agent": [each.message_id for each in said if each.role == Role.ROLE_AGENT],
    }


@given(st.one_of(logs, plausible_logs()), st.data())
def test_a_stream_from_any_point_leads_to_the_task_as_it_is(
    log: list[Entry], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(log)))
    state = folded(*log[:cut])
    copy = state.copy_task()
    for entry in log[cut:]:
        for event in fold(state, entry):
            apply(copy, event)
        assert seen(copy) == seen(state.task)


@given(logs)
def test_streamed_events_survive_their_way_over_the_wire(log: list[Entry]) -> None:
    state = folded()
    for entry in log:
        for event in fold(state, entry):
            text = json.dumps(event_to_json(event))
            assert event_to_json(event_from_json(json.loads(text))) == json.loads(text)


@given(logs)
def test_every_event_names_its_task_and_context(log: list[Entry]) -> None:
    state = folded()
    for entry in log:
        for event in fold(state, entry):
            named = event.id if isinstance(event, Task) else getattr(event, "task_id", "")
            assert (named, event.context_id) == ("task", "context")


def test_an_append_to_an_unknown_artifact_creates_it_and_is_streamed_as_new() -> None:
    state = folded()
    (made,) = fold(state, batch(1, 1, 1, chunk("x", "a", append=True)))
    assert isinstance(made, TaskArtifactUpdateEvent)
    assert not made.append
    assert state.task.artifacts[0].parts[0].text == "a"


def test_an_append_to_an_artifact_of_a_lost_attempt_is_streamed_as_new() -> None:
    state = folded(batch(1, 1, 1, chunk("x", "lost")))
    made = fold(state, batch(1, 2, 1, chunk("x", "a", append=True)))
    assert [type(each) for each in made] == [Task, TaskArtifactUpdateEvent]
    assert isinstance(made[1], TaskArtifactUpdateEvent)
    assert not made[1].append


def test_what_is_streamed_is_no_part_of_the_log_itself() -> None:
    state = folded()
    (made,) = fold(state, batch(1, 1, 1, chunk("x", "a")))
    assert isinstance(made, TaskArtifactUpdateEvent)
    made.artifact.parts[0].text = "changed by a reader"
    assert state.task.artifacts[0] == Artifact(
        artifact_id="x", parts=chunk("x", "a").artifact.parts
    )


def test_folding_changes_no_entry() -> None:
    entry = batch(1, 1, 1, status(WORKING, "a1"), chunk("x", "a", append=True))
    folded(entry, sent("m2"), batch(1, 1, 2, chunk("x", "b", append=True)))
    assert entry == batch(1, 1, 1, status(WORKING, "a1"), chunk("x", "a", append=True))


def test_a_client_message_is_not_streamed() -> None:
    assert fold(folded(), sent("m2")) == []
