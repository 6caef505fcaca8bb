"""A2A protobufs to plain JSON and back."""

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from a2a.types.a2a_pb2 import StreamResponse
from google.protobuf.json_format import ParseError
from hypothesis import given
from hypothesis import strategies as st

from a2a_temporal._log.protojson import (
    check_depth,
    digest,
    event_from_json,
    event_to_json,
    from_json,
    timestamp,
    to_json,
)
from tests.unit.log.building import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    agent_says,
    user_message,
)

_json = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**40), 2**40),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=10,
)
_objects = st.dictionaries(st.text(max_size=4), _json, max_size=3)

_parts = st.one_of(
    st.text(max_size=20).map(lambda text: Part(text=text)),
    st.binary(max_size=20).map(lambda raw: Part(raw=raw, media_type="image/png", filename="a.png")),
    st.just(Part(url="https://example.com/a.png")),
    _json.map(lambda value: from_json({"data": value}, Part())),
)


@st.composite
def _messages(draw: st.DrawFn) -> Message:
    message = Message(
        message_id=draw(st.text(min_size=1, max_size=5)),
        role=draw(st.sampled_from([Role.ROLE_USER, Role.ROLE_AGENT])),
        parts=draw(st.lists(_parts, max_size=3)),
        extensions=draw(st.lists(st.text(max_size=5), max_size=2)),
        reference_task_ids=draw(st.lists(st.text(max_size=5), max_size=2)),
    )
    message.metadata.update(draw(_objects))
    return message


@given(_messages())
def test_a_message_comes_back_as_it_was(message: Message) -> None:
    text = json.dumps(to_json(message), allow_nan=False)
    assert from_json(json.loads(text), Message()) == message


@given(_messages(), st.lists(_parts, max_size=2))
def test_a_task_comes_back_as_it_was(message: Message, parts: list[Part]) -> None:
    task = Task(id="task", context_id="context", history=[message])
    task.artifacts.append(Artifact(artifact_id="x", parts=parts))
    text = json.dumps(event_to_json(task), allow_nan=False)
    assert event_from_json(json.loads(text)) == task


@given(_objects)
def test_keys_are_sorted_at_every_depth(value: dict[str, Any]) -> None:
    message = Message(message_id="m1")
    message.metadata.update(value)
    written = to_json(message)
    assert json.dumps(written) == json.dumps(written, sort_keys=True)


def _nested(levels: int) -> dict[str, Any]:
    value: Any = "bottom"
    for _ in range(levels):
        value = {"a": value}
    return {"messageId": "m1", "parts": [{"data": value}]}


@pytest.mark.parametrize("levels", range(1, 32, 6))
def test_what_passes_the_check_of_depth_fits_anywhere_in_a_task(levels: int) -> None:
    message = from_json(_nested(levels), Message())
    check_depth(message)
    task = Task(id="task", artifacts=[Artifact(artifact_id="x", parts=message.parts)])
    task.history.append(message)
    task.status.message.CopyFrom(message)
    assert event_from_json(event_to_json(task)) == task
    assert StreamResponse.FromString(StreamResponse(task=task).SerializeToString()).task == task


@pytest.mark.parametrize("levels", [32, 40, 48])
def test_what_protobuf_itself_cannot_read_is_refused(levels: int) -> None:
    message = from_json(_nested(levels), Message())
    with pytest.raises(ParseError, match="too deep"):
        check_depth(message)
    update = TaskArtifactUpdateEvent(artifact=Artifact(artifact_id="x"))
    update.artifact.parts.add().CopyFrom(message.parts[0])
    with pytest.raises(ParseError, match="too deep"):
        event_from_json({"message": _nested(levels + 2)})


@pytest.mark.parametrize("value", [{}, {"other": {}}, {"status": {}}])
def test_an_event_of_no_known_kind_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(ParseError, match="no event of a known kind"):
        event_from_json(value)


def test_a_digest_says_what_was_said_and_not_where() -> None:
    first, second = user_message(), user_message()
    second.task_id, second.context_id = "task", "context"
    assert digest(first) == digest(second)
    assert digest(first) != digest(user_message(text="other"))
    assert digest(first) != digest(agent_says("m1", "hello"))


def test_a_digest_does_not_depend_on_the_order_of_metadata() -> None:
    first, second = user_message(), user_message()
    first.metadata.update({"k": 1, "l": {"a": 1, "b": 2}})
    second.metadata.update({"l": {"b": 2, "a": 1}, "k": 1})
    assert digest(first) == digest(second)


def test_timestamps_are_cut_to_milliseconds_in_utc() -> None:
    noon = datetime(2026, 1, 2, 13, 0, 0, 999999, tzinfo=timezone(timedelta(hours=1)))
    assert timestamp(noon).ToJsonString() == "2026-01-02T12:00:00.999Z"
