"""The short way between protobufs and JSON makes what protobuf's own conversion makes."""

from typing import Any

import pytest
from a2a.types.a2a_pb2 import AgentCard, StreamResponse
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import DecodeError, EncodeError
from hypothesis import given
from hypothesis import strategies as st

from a2a_temporal._log.protojson import event_from_json, from_json, to_json

_TEXTS = st.text(max_size=5) | st.sampled_from(["\ud800", "TASK_STATE_WORKING", "ROLE_USER"])
_TIMES = st.sampled_from(
    [
        "2026-12-01T01:02:03Z",
        "2026-12-01T01:02:03.004Z",
        "2026-12-01T01:02:03.004005Z",
        "2026-12-01T01:02:03+01:00",
        "2026-13-01T01:02:03Z",
        "0001-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "١٢٣٤-12-01T01:02:03Z",
        "now",
    ]
)
_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS | _TIMES | st.just("YQ==")
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_TEXTS | st.sampled_from(["fields", "[x.y]"]), inner, max_size=3)
    ),
    max_leaves=8,
)


_REFUSALS = (ParseError, OverflowError, AttributeError, TypeError, ValueError)


def _object(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Any selection of fields; now and then one holds something of another kind."""
    optional = {name: field | _SCALARS for name, field in fields.items()}
    return st.fixed_dictionaries({}, optional=optional)


_METADATA = st.dictionaries(_TEXTS, _VALUES, max_size=3)
_PARTS = st.lists(
    _object(
        text=_TEXTS,
        raw=st.sampled_from(["YQ==", "YQ", "Y Q==", "-_8=", "?", ""]),
        url=_TEXTS,
        data=_VALUES,
        metadata=_METADATA,
        mediaType=_TEXTS,
        media_type=_TEXTS,
        unknown=_VALUES,
    ),
    max_size=3,
)
_MESSAGES = _object(
    messageId=_TEXTS,
    message_id=_TEXTS,
    role=st.sampled_from(["ROLE_USER", "ROLE_AGENT", "ROLE_NONE", 1, 99]),
    parts=_PARTS,
    metadata=_METADATA,
    extensions=st.lists(_TEXTS, max_size=2),
    referenceTaskIds=st.lists(_TEXTS, max_size=2),
)
_STATUSES = _object(
    state=st.sampled_from(["TASK_STATE_WORKING", "TASK_STATE_OTHER", 3, 77]),
    message=_MESSAGES,
    timestamp=_TIMES,
)
_ARTIFACTS = _object(artifactId=_TEXTS, name=_TEXTS, parts=_PARTS, metadata=_METADATA)
_EVENTS = _object(
    message=_MESSAGES,
    statusUpdate=_object(taskId=_TEXTS, status=_STATUSES, metadata=_METADATA),
    artifactUpdate=_object(artifact=_ARTIFACTS, append=st.booleans(), lastChunk=st.booleans()),
    task=_object(
        id=_TEXTS,
        status=_STATUSES,
        artifacts=st.lists(_ARTIFACTS, max_size=2),
        history=st.lists(_MESSAGES, max_size=2),
    ),
)


@given(_EVENTS)
def test_what_is_read_is_what_protobuf_reads(event: dict[str, Any]) -> None:
    expected, made = StreamResponse(), StreamResponse()
    try:
        ParseDict(event, expected, ignore_unknown_fields=True)
    except SystemError:  # of a name that is no text; nothing else here raises it
        return
    except _REFUSALS as error:
        with pytest.raises(type(error)):
            from_json(event, made)
    else:
        assert from_json(event, made).SerializeToString(
            deterministic=True
        ) == expected.SerializeToString(deterministic=True)


@pytest.mark.parametrize("name", ["\ud800", "message_id\ud800"])
def test_a_name_that_is_no_text_is_ignored_or_refused(name: str) -> None:
    assert from_json({name: 1}, StreamResponse()) == StreamResponse()
    with pytest.raises(ParseError):
        from_json({name: 1, "message": 1}, StreamResponse())


@given(_EVENTS)
def test_what_is_written_is_what_protobuf_writes(event: dict[str, Any]) -> None:
    message = StreamResponse()
    try:
        ParseDict(event, message, ignore_unknown_fields=True)
        expected = MessageToDict(message)
    except (SystemError, *_REFUSALS):
        return
    assert to_json(message) == expected


def test_a_card_is_read_and_written_as_well() -> None:
    card = {
        "name": "Reports",
        "capabilities": {"streaming": True},
        "skills": [{"id": "a", "tags": ["b", "c"]}],
        "securitySchemes": {"key": {"apiKeySecurityScheme": {"name": "k", "location": "header"}}},
        "securityRequirements": [{"schemes": {"key": {"list": ["read"]}}}],
    }
    read = from_json(card, AgentCard())
    assert read == ParseDict(card, AgentCard())
    assert to_json(read) == card


@pytest.mark.parametrize("levels", range(1, 40))
@pytest.mark.parametrize("kind", [dict, list])
def test_what_is_read_can_be_copied_everywhere(levels: int, kind: type) -> None:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value} if kind is dict else [value]
    try:
        event = event_from_json(
            {"task": {"status": {"message": {"messageId": "m", "parts": [{"data": value}]}}}}
        )
    except ParseError:
        assert levels > 24
        return
    try:
        type(event).FromString(event.SerializeToString())
    except (DecodeError, EncodeError) as error:
        raise AssertionError(levels) from error
