"""Whatever a person or a program sends as an answer is read, or refused: it never breaks a task."""

import contextlib
from typing import Any

from a2a.types import Message
from hypothesis import given
from hypothesis import strategies as some

from a2a_temporal._log.answers import Answer, RefusedError, parse_answer, parse_decision
from a2a_temporal._log.hitl import HITL_EXTENSION, answers_of
from a2a_temporal._log.protojson import from_json
from a2a_temporal._log.requests import OpenRequest

WORDS = some.sampled_from(
    [
        "type",
        "approvals",
        "id",
        "approved",
        "answers",
        "answer",
        "verdict",
        "request",
        "by",
        "as",
        "groups",
        "details",
        "comment",
        "token",
        "verified",
        "door",
        "decision",
        "reason",
    ]
)
VALUES = some.sampled_from(
    ["approve", "reject", "answer", "approval-1", "tool_approval_response", "ask_user_response"]
)
JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-9, 9) | some.text(max_size=5) | VALUES,
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(WORDS | some.text(max_size=4), inner)
    ),
    max_leaves=8,
)
REQUESTS = [
    OpenRequest(id="approval-1", kind="approval", summary="Pay?", asked_at=""),
    OpenRequest(id="input-2", kind="input", summary="Why?", asked_at=""),
]


@given(JSON, some.sampled_from(["approve", "reject", "answer"]))
def test_a_signal(value: Any, signal: Any) -> None:
    with contextlib.suppress(RefusedError):
        assert parse_answer(signal, value).decision == signal


@given(JSON)
def test_a_decision(value: Any) -> None:
    decision = parse_decision(value)
    assert decision is None or isinstance(decision, Answer)


@given(JSON, some.integers(0, 2))
def test_a_data_part(value: Any, asked: int) -> None:
    message = from_json({"parts": [{"data": value}]}, Message())
    with contextlib.suppress(RefusedError):
        answers_of(message, REQUESTS[:asked], Answer("answer", channel="a2a"))


@given(JSON)
def test_a_hitl_payload(value: Any) -> None:
    message = from_json({"metadata": {HITL_EXTENSION: value}}, Message())
    with contextlib.suppress(RefusedError):
        answers_of(message, REQUESTS, Answer("answer", channel="a2a"))
