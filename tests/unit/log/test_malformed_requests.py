"""What a workflow says of requests in a wrong shape is skipped, named, and breaks nothing."""

from typing import Any

import pytest
from a2a.types.a2a_pb2 import Message
from hypothesis import given
from hypothesis import strategies as some

from a2a_temporal._log.protojson import from_json
from a2a_temporal._log.published import published
from a2a_temporal._log.requests import APPROVALS_EXTENSION

GOOD: dict[str, Any] = {"id": "approval-1", "kind": "approval", "summary": "Pay?", "asked_at": "x"}
RECORD: dict[str, Any] = {"request": "approval-1", "decision": "approve", "by": "ann"}
JSON = some.recursive(
    some.none()
    | some.booleans()
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(max_size=3),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=3), inner),
    max_leaves=5,
)


def _about(about: Any) -> Message:
    return from_json({"metadata": {APPROVALS_EXTENSION: about}}, Message())


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"id": 7},
        {"kind": "wish"},
        {"summary": None},
        {"approvers": [["finance", "cfo"]]},
        {"approvers": "finance"},
        {"quorum": "2"},
        {"quorum": 0},
        {"quorum": True},
        {"quorum": 1.5},
        {"choices": [1]},
        {"deadline": 5},
        {"schema": []},
        {"records": {}},
        {"records": [{"by": ["ann"]}]},
        {"verified_only": "no"},
        {"excluded": {}},
    ],
)
def test_a_malformed_request_is_named_and_hides_no_other(wrong: dict[str, Any]) -> None:
    found = published(_about({"requests": [GOOD | wrong, GOOD]}))
    assert [each.id for each in found.requests] == ["approval-1"]
    assert len(found.problems) == 1


@pytest.mark.parametrize("about", [None, 7, [], "x", {"requests": None}, {"requests": {"id": 1}}])
def test_what_is_no_list_of_requests_is_named(about: Any) -> None:
    found = published(_about(about))
    assert found.requests == []
    assert found.problems


@pytest.mark.parametrize(
    "record",
    [None, [], RECORD | {"by": 5}, RECORD | {"decision": ""}, RECORD | {"verified": "yes"}],
)
def test_a_malformed_record_is_named(record: Any) -> None:
    found = published(_about({"record": record}))
    assert found.record is None
    assert found.problems


@given(JSON, some.sampled_from([*GOOD, "approvers", "quorum", "records", "choices", "deadline"]))
def test_whatever_stands_there_it_is_read_or_named(value: Any, name: str) -> None:
    found = published(_about({"requests": [GOOD | {name: value}], "record": value}))
    assert len(found.requests) + len(found.problems) >= 1
