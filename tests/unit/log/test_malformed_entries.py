"""Whatever a signal holds: it is an entry or it is nothing, and the Task can always be told."""

import json
from dataclasses import asdict
from typing import Any, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from a2a_temporal._log import wire
from a2a_temporal._log.entries import (
    MessageEntry,
    parse_emission,
    parse_signal,
    parse_start,
)
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import event_to_json, to_json
from a2a_temporal._log.state import state_name
from tests.unit.log.building import (
    WORKING,
    Picture,
    batch,
    chunk,
    folded,
    picture,
    started,
    status,
    through_continue_as_new,
)

SIGNALS = (wire.MESSAGE_SIGNAL, wire.EVENTS_SIGNAL)

_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just("1")
)
_NAMES = """
    message events turn attempt sequence at done request source messageId statusUpdate
    artifactUpdate status state artifact artifactId parts role text data raw metadata
    timestamp task id version
"""
_names = st.sampled_from(sorted(set(_NAMES.split())))
anything = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_names, inner, max_size=5)
    ),
    max_leaves=20,
)


def events_signal(**changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "turn": 1,
        "attempt": 1,
        "sequence": 1,
        "events": [event_to_json(status(WORKING)), event_to_json(chunk("x", "a"))],
        "at": "2026-01-02T12:00:00.000Z",
        "done": False,
        **changes,
    }


def message_signal(**changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "message": {"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "hello"}]},
        "request": {"user": "alice"},
        "at": "2026-01-02T12:00:00.000Z",
        **changes,
    }


@given(st.sampled_from(SIGNALS), anything)
def test_any_json_is_an_entry_or_nothing(name: str, value: Any) -> None:
    _folds_to_something_tellable(name, value)


@given(st.sampled_from(SIGNALS), st.data())
def test_any_json_in_the_place_of_any_field_is_an_entry_or_nothing(
    name: str, data: st.DataObject
) -> None:
    signal = message_signal() if name == wire.MESSAGE_SIGNAL else events_signal()
    _replace_somewhere(signal, data)
    _folds_to_something_tellable(name, signal)


@given(anything)
def test_any_json_in_the_memo_is_an_emission_or_nothing(value: Any) -> None:
    entry = parse_emission(value)
    if entry is not None:
        state = folded(entry)
        json.dumps(to_json(state.task), allow_nan=False)


@given(anything)
def test_any_json_is_the_start_of_a_task_or_none(value: Any) -> None:
    start = parse_start(value)
    if start is not None:
        folded(start=start)


@given(st.data())
def test_any_json_in_the_place_of_any_field_of_a_start_is_a_task_or_none(
    data: st.DataObject,
) -> None:
    value = asdict(started())
    _replace_somewhere(value, data)
    start = parse_start(value)
    if start is not None:
        start = start if start.snapshot is None else started()
        json.dumps(to_json(folded(start=start).task), allow_nan=False)


@pytest.mark.parametrize("value", [None, True, 7, 1.5, "text", b"bytes", [], [1], {}, object()])
@pytest.mark.parametrize("name", SIGNALS)
def test_what_is_no_object_is_no_entry(name: str, value: Any) -> None:
    assert parse_signal(name, value) is None
    assert parse_emission(value) is None
    assert parse_start(value) is None


@pytest.mark.parametrize("missing", ["turn", "attempt", "sequence", "events"])
def test_a_batch_without_its_place_or_its_events_is_none(missing: str) -> None:
    signal = events_signal()
    del signal[missing]
    assert parse_signal(wire.EVENTS_SIGNAL, signal) is None


@pytest.mark.parametrize(
    "changes",
    cast(
        "list[dict[str, Any]]",
        [
            {"turn": "one"},
            {"turn": float("inf")},
            {"turn": None},
            {"events": [{}]},
            {"events": [None]},
            {"events": ["statusUpdate"]},
            {"events": [{"statusUpdate": {"status": {"state": {}}}}]},
            {"events": [{"unknownUpdate": {}}]},
            {"at": 5},
            {"at": "yesterday"},
        ],
    ),
    ids=repr,
)
def test_a_malformed_batch_is_none_even_where_only_a_part_of_it_is(changes: dict[str, Any]) -> None:
    assert parse_signal(wire.EVENTS_SIGNAL, events_signal(**changes)) is None


@pytest.mark.parametrize(
    "message",
    [None, "m2", ["messageId"], {}, {"messageId": 5}, {"messageId": ""}, {"role": "ROLE_USER"}],
    ids=repr,
)
def test_a_message_without_an_id_is_none(message: Any) -> None:
    assert parse_signal(wire.MESSAGE_SIGNAL, message_signal(message=message)) is None


def test_numbers_that_a_task_could_not_be_written_with_are_refused() -> None:
    for number in (float("nan"), float("inf"), 10**400):
        event = {"artifactUpdate": {"artifact": {"artifactId": "x", "parts": [{"data": number}]}}}
        assert parse_signal(wire.EVENTS_SIGNAL, events_signal(events=[event])) is None


def test_a_request_that_is_no_object_counts_as_none_given() -> None:
    entry = parse_signal(wire.MESSAGE_SIGNAL, message_signal(request=["user"]))
    assert isinstance(entry, MessageEntry)
    assert entry.request == {}


def test_other_signals_are_no_entries() -> None:
    assert parse_signal("something", message_signal()) is None


@pytest.mark.parametrize("state", [0, 99, -1, "TASK_STATE_FROM_THE_FUTURE"])
def test_a_state_this_version_does_not_know_changes_no_state(state: Any) -> None:
    event = {"statusUpdate": {"status": {"state": state, "message": {"messageId": "a1"}}}}
    entry = parse_signal(wire.EVENTS_SIGNAL, events_signal(events=[event]))
    assert entry is not None
    known = folded(batch(1, 1, 0, status(WORKING)), entry)
    assert known.task.status.state == WORKING
    assert known.task.status.message.message_id == "a1"
    assert state_name(known.task.status.state) == "working"


@given(st.sampled_from(SIGNALS), anything)
def test_unknown_fields_are_tolerated_everywhere(name: str, value: Any) -> None:
    assume(_is_json(value))
    plain = message_signal() if name == wire.MESSAGE_SIGNAL else events_signal()
    read = parse_signal(name, plain)
    assert read is not None
    widened = _widened(plain, value)
    if isinstance(read, MessageEntry):  # a request may hold anything
        widened["request"] = plain["request"]
    assert parse_signal(name, widened) == read


def _widened(json_value: Any, value: Any) -> Any:
    """Put a field from the future into every object."""
    if isinstance(json_value, dict):
        fields = cast("dict[str, Any]", json_value)
        known = {key: _widened(each, value) for key, each in fields.items()}
        return {"fromTheFuture": value, **known}
    if isinstance(json_value, list):
        return [_widened(each, value) for each in cast("list[Any]", json_value)]
    return json_value


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _folds_to_something_tellable(name: str, value: Any) -> None:
    state = folded()
    before: Picture = picture(state)
    entry = parse_signal(name, value)
    if entry is None:
        return
    fold(state, entry)
    json.dumps(to_json(state.task), allow_nan=False)
    state_name(state.task.status.state)
    assert picture(through_continue_as_new(state)) == picture(state)
    assert state.task.id == before.task["id"]


def _replace_somewhere(json_value: Any, data: st.DataObject) -> None:
    """Put any JSON in the place of a field of a signal, at any depth."""
    places: list[tuple[Any, Any]] = []
    waiting = [json_value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            keys: list[Any] = list(cast("dict[str, Any]", each))
        elif isinstance(each, list):
            keys = list(range(len(cast("list[Any]", each))))
        else:
            continue
        places += [(each, key) for key in keys]
        waiting += [each[key] for key in keys]
    container, key = data.draw(st.sampled_from(places))
    container[key] = data.draw(anything)
