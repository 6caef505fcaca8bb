"""A message counts as a whole, or not at all: what it says twice or beside must not be lost."""

from typing import Any

import pytest
from a2a.types import Message

from a2a_temporal._log.answers import (
    Answer,
    ContradictionError,
    RefusedError,
    check_answered,
    find,
    parse_answer,
    parse_decision,
)
from a2a_temporal._log.hitl import HITL_EXTENSION, answers_of
from a2a_temporal._log.protojson import from_json
from a2a_temporal._log.requests import OpenRequest

BASE = Answer("answer", by="ann", channel="a2a")
YES: dict[str, Any] = {"approved": True, "request": "approval-1"}
NO: dict[str, Any] = {"approved": False, "request": "approval-1"}
FILE = {"raw": "eA==", "filename": "x"}


def _asked(*ids: str) -> list[OpenRequest]:
    return [
        OpenRequest(id=each, kind=each.split("-")[0], summary=each, asked_at="")  # pyright: ignore[reportArgumentType] # a literal
        for each in ids
    ]


def _message(*parts: Any, hitl: Any = None, **metadata: Any) -> Message:
    written = [
        {"text": each} if isinstance(each, str) else {"data": each} if each is not FILE else each
        for each in parts
    ]
    metadata |= {} if hitl is None else {HITL_EXTENSION: hitl}
    return from_json({"parts": written, "metadata": metadata}, Message())


def _approvals(*approvals: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "tool_approval_response", "approvals": list(approvals), **more}


def _part_says(metadata: dict[str, Any], part: Any) -> Message:
    message = _message(part)
    message.parts[0].metadata.update(metadata)
    return message


def _words(*answers: Any, id: str | None = "input-1") -> dict[str, Any]:
    return {"type": "ask_user_response", "answers": list(answers)} | ({"id": id} if id else {})


HITL_YES = _approvals({"id": "approval-1", "approved": True})

CONTRADICTIONS: list[Message] = [
    _message("reject approval-1", YES),
    _message("no", {"approved": True}),
    _message("yes", NO),
    _message("but only 100", YES),
    _message(YES, "thanks"),
    _message(YES, NO),
    _message(YES, YES | {"details": {"amount": 1}}),
    _message({"approved": True}, {"approved": True, "request": "approval-1", "comment": "x"}),
    _message(YES, FILE),
    _message("yes", FILE),
    _message(FILE),
    _message(YES, {"note": "see above"}),
    *(_message({"approved": value}) for value in ("true", "yes", 1, 0, None, [True], {"a": True})),
    *(_message({"decision": value}) for value in (True, "maybe", None, 1, ["approve"])),
    _message({"approved": True, "decision": "reject"}),
    _message(YES | {"id": "approval-2"}),
    _message(YES | {"comment": "a", "reason": "b"}),
    _message(YES | {"amount": 100}),
    _message(YES | {"answer": "no"}),
    _message(YES | {"comment": 7}),
    _message({"approved": True, "request": 1}),
    _message(NO | {"details": {"amount": 1}}),
    _message(YES, hitl=HITL_YES),
    _message("no", hitl=HITL_YES),
    _message("reject approval-1", hitl=HITL_YES),
    _message(FILE, hitl=HITL_YES),
    _message("approve\nreject", hitl=HITL_YES),
    _message("approve approval-1\nno", hitl=HITL_YES),
    _message("Looks bad to me.\nNo!", hitl=HITL_YES),
    _message("reject, too expensive", hitl=HITL_YES),
    _message("I have looked.\nNo - too expensive", hitl=HITL_YES),
    _message("yes, fine", hitl=_approvals({"id": "approval-1", "approved": False})),
    _message("approve", approved=False),
    _message("reject", approved=True),
    _message("reject approval-1", decision="approve"),
    _message(YES, decision="rejected"),
    _message(YES, approved="no"),
    _message(hitl=HITL_YES, approved=False),
    _part_says({"approved": False}, "yes"),
    _part_says({"decision": "reject"}, YES),
    _message(YES | {"comment": "reject, too expensive"}),
    _message(NO | {"reason": "Yes, but later"}),
    _message(YES | {"comment": "no"}),
    _message(YES | {"reason": "Reject."}),
    _message(NO | {"comment": "approved"}),
    _message(hitl=_approvals({"id": "approval-1", "approved": False, "rejection_reason": "yes"})),
    _message(hitl=_approvals({"id": "approval-1", "approved": True, "rejection_reason": "no"})),
    _message(hitl=_approvals({"id": "approval-1", "approved": True, "args": {"amount": 1}})),
    _message(hitl=_approvals({"id": "approval-1", "approved": False, "rejection_reason": 7})),
    _message(hitl=_approvals({"id": "approval-1", "approved": True}, details={"amount": 1})),
]


@pytest.mark.parametrize("message", CONTRADICTIONS)
def test_two_meanings_or_more_than_is_read_is_no_answer(message: Message) -> None:
    with pytest.raises(ContradictionError):
        answers_of(message, _asked("approval-1"), BASE)


@pytest.mark.parametrize(
    "message",
    [
        _message(YES),
        _message("approve", YES),
        _message("approve approval-1", YES),
        _message("yes", {"approved": True}),
        _message(YES, YES),
        _message("Approved!", hitl=HITL_YES),
        _message("I have pressed a button", hitl=HITL_YES),
        _message("No problem at all, I have looked", hitl=HITL_YES),
        _message("yes", approved=True, decision="approve", note="no"),
        _message(YES, approved=7, decision="later"),
        _message({"approved": True, "decision": "approved", "id": "approval-1"}),
        _message("approve approval-1"),
    ],
)
def test_saying_one_thing_in_two_ways_is_one_answer(message: Message) -> None:
    (answer,) = answers_of(message, _asked("approval-1"), BASE)
    assert (answer.decision, answer.request in ("", "approval-1")) == ("approve", True)


@pytest.mark.parametrize(
    "message",
    [
        _message(YES, {"approved": False, "request": "approval-2"}),
        _message("reject approval-2", YES),
        _message("approve approval-1\nreject approval-2"),
        _message("approve approval-1", "reject approval-2"),
    ],
)
def test_two_requests_are_both_answered(message: Message) -> None:
    answers = answers_of(message, _asked("approval-1", "approval-2"), BASE)
    found = sorted((each.request, each.decision) for each in answers)
    assert found == [("approval-1", "approve"), ("approval-2", "reject")]


def test_of_several_answers_each_names_its_request() -> None:
    for message in (_message(YES, {"approved": False}), _message("no", hitl=HITL_YES)):
        with pytest.raises(RefusedError):
            answers_of(message, _asked("approval-1", "approval-2"), BASE)


def test_a_bare_yes_beside_a_question_is_asked_again() -> None:
    with pytest.raises(RefusedError, match="a question among them"):
        answers_of(_message("yes"), _asked("approval-1", "input-2"), BASE)
    (answer,) = answers_of(_message("yes approval-1"), _asked("approval-1", "input-2"), BASE)
    assert answer.request == "approval-1"


def test_a_question_is_answered_by_all_of_a_message_or_none() -> None:
    (answer,) = answers_of(_message({"days": 3, "note": "x"}), _asked("input-1"), BASE)
    assert answer.answer == {"days": 3, "note": "x"}
    for message in (
        _message("3 days", FILE),
        _message("3 days", {"days": 4}),
        _message({"days": 3}, {"days": 4}),
        _message({"answer": "3", "unit": "days"}),
        _message({"answer": None}),
        _message("3 days", answer="4 days"),
        _message({"answer": "3"}, answer="4"),
        _message("", hitl=_words({"answer": ["3"], "question": "input-9"})),
    ):
        with pytest.raises(ContradictionError):
            answers_of(message, _asked("input-1"), BASE)


def test_a_hitl_answer_names_the_question_that_is_open() -> None:
    message = _message("", hitl=_words({"answer": ["3"], "question": "input-1"}))
    (answer,) = answers_of(message, _asked("input-1"), BASE)
    assert (answer.request, answer.answer) == ("input-1", "3")
    with pytest.raises(RefusedError, match="must name the id"):
        answers_of(_message("", hitl=_words({"answer": ["3"]}, id=None)), _asked("input-1"), BASE)
    for other in ("input-9", "approval-2"):
        message = _message("", hitl=_words({"answer": ["3"]}, id=other))
        (answer,) = answers_of(message, _asked("input-1", "approval-2"), BASE)
        with pytest.raises(RefusedError, match="not waiting for an answer"):
            find(_asked("input-1", "approval-2"), answer)


def test_an_answer_to_a_question_says_something() -> None:
    (asked,) = _asked("input-1")
    for signal in (None, "", {}, {"answer": None}, {"answer": ""}):
        with pytest.raises(RefusedError, match="asks for words"):
            check_answered(asked, parse_answer("answer", signal))
    for signal in ("blue", {"answer": 0}, {"answer": False}, {"comment": "blue"}):
        check_answered(asked, parse_answer("answer", signal))
    check_answered(_asked("auth-1")[0], parse_answer("answer", None))


def test_whoever_asked_for_a_credential_gets_the_whole_message() -> None:
    for message in (_message("done", FILE), _message({"a": 1}, {"b": 2})):
        (answer,) = answers_of(message, _asked("auth-1"), BASE)
        assert answer.decision == "answer"
    (answer,) = answers_of(_message({"approved": False}), _asked("auth-1"), BASE)
    assert answer.decision == "reject"


def test_the_details_that_were_looked_at_may_be_named() -> None:
    (answer,) = answers_of(_message(YES | {"details_sha256": "h"}), _asked("approval-1"), BASE)
    assert answer.seen == "h"


@pytest.mark.parametrize(
    ("signal", "value"),
    [
        ("approve", {"by": "ann", "approved": False}),
        ("approve", {"by": "ann", "answer": "no"}),
        ("approve", {"by": "ann", "reject": True}),
        ("approve", "no"),
        ("approve", {"comment": "Rejected."}),
        ("approve", {"comment": "\uff4e\uff4f\u200b"}),
        ("approve", "'no'"),
        ("approve", "reject, too expensive"),
        ("approve", {"comment": "Looked at it.\nNo: too expensive"}),
        ("reject", {"comment": "yes, but later"}),
        ("reject", {"by": "ann", "details": {"amount": 1}}),
        ("reject", "yes"),
        ("answer", {"answer": "x", "details": {}}),
        ("approve", {"by": ["ann"]}),
        ("approve", {"request": 1}),
    ],
)
def test_a_signal_by_hand_is_read_as_a_whole_as_well(signal: Any, value: Any) -> None:
    with pytest.raises(ContradictionError):
        parse_answer(signal, value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"verified": "true"},
        {"groups": "finance"},
        {"groups": None},
        {"groups": [1]},
        {"by": None},
        {"door": "moon"},
        {"door": 1},
        {"verdict": "yes"},
        {"token": 5},
        {"seen": {}},
    ],
)
def test_a_decision_of_wrong_types_is_none(wrong: dict[str, Any]) -> None:
    good = {"verdict": "approve", "by": "ann", "door": "inbox", "verified": True, "groups": ["x"]}
    assert parse_decision(good) is not None
    assert parse_decision(good | wrong) is None
