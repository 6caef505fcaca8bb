"""What a client's words mean: an answer is exactly one of the offered words, or no answer."""

from typing import Any

import pytest
from a2a.types import Message, Part

from a2a_temporal._log.answers import Answer, RefusedError, find
from a2a_temporal._log.hitl import HITL_EXTENSION, answers_of
from a2a_temporal._log.protojson import from_json
from a2a_temporal._log.requests import OpenRequest
from a2a_temporal._worker.task.parts import data_of

BASE = Answer("answer", by="ann", channel="a2a")


def _asked(*ids: str) -> list[OpenRequest]:
    return [
        OpenRequest(id=each, kind=each.split("-")[0], summary=each, asked_at="")  # pyright: ignore[reportArgumentType] # a literal
        for each in ids
    ]


def _text(text: str) -> Message:
    return Message(parts=[Part(text=text)])


def _data(data: Any) -> Message:
    return from_json({"parts": [{"data": data}]}, Message())


def _hitl(payload: Any) -> Message:
    return from_json(
        {"extensions": [HITL_EXTENSION], "metadata": {HITL_EXTENSION: payload}}, Message()
    )


@pytest.mark.parametrize("word", ["approve", "Approve", "approved", "yes", " YES! ", "yes."])
def test_a_word_of_consent(word: str) -> None:
    (answer,) = answers_of(_text(word), _asked("approval-1"), BASE)
    assert (answer.decision, answer.request, answer.by) == ("approve", "", "ann")


@pytest.mark.parametrize("word", ["reject", "no", "Deny", "rejected"])
def test_a_word_of_refusal(word: str) -> None:
    (answer,) = answers_of(_text(word), _asked("approval-1"), BASE)
    assert answer.decision == "reject"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "yes please",
        "approve it",
        "I approve",
        "not approve",
        "approve the smaller one",
        "approve\nreject",
        "да",
        '{"approved": true}',
    ],
)
def test_anything_else_is_no_answer_and_asks_again(text: str) -> None:
    with pytest.raises(RefusedError, match="neither a yes nor a no"):
        answers_of(_text(text), _asked("approval-1"), BASE)


def test_a_word_may_name_its_request() -> None:
    (answer,) = answers_of(_text("approve approval-2"), _asked("approval-1", "approval-2"), BASE)
    assert (answer.decision, answer.request) == ("approve", "approval-2")


def test_two_open_requests_need_a_name() -> None:
    requests = _asked("approval-1", "approval-2")
    (answer,) = answers_of(_text("yes"), requests, BASE)
    with pytest.raises(RefusedError, match="Several requests are open"):
        find(requests, answer)


def test_a_later_request_must_be_named_in_words_but_not_by_an_operator() -> None:
    requests = _asked("approval-2")
    requests[0].explicit = True
    (answer,) = answers_of(_text("yes"), requests, BASE)
    with pytest.raises(RefusedError, match="approve approval-2"):
        find(requests, answer)
    assert find(requests, Answer("approve")) is requests[0]
    with pytest.raises(RefusedError, match="--request approval-2"):
        find(requests, Answer("approve", channel="cli"))


@pytest.mark.parametrize(
    ("ids", "explicit", "words"),
    [
        (["approval-1"], False, "exactly 'approve' or 'reject', or"),
        (["approval-2"], True, "exactly 'approve approval-2' or 'reject approval-2', or"),
        (["approval-1", "approval-2"], False, "'reject approval-1' or 'approve approval-2' or"),
    ],
)
def test_unclear_words_are_told_the_exact_ones(ids: list[str], explicit: bool, words: str) -> None:
    requests = _asked(*ids)
    for each in requests:
        each.explicit = explicit
    with pytest.raises(RefusedError) as refused:
        answers_of(_text("go ahead"), requests, BASE)
    assert words in str(refused.value)
    assert f'"request": "{ids[0]}"' in str(refused.value)


@pytest.mark.parametrize(
    ("data", "verdict"),
    [
        ({"approved": True}, "approve"),
        ({"approved": False, "comment": "too much"}, "reject"),
        ({"decision": "approve", "request": "approval-1"}, "approve"),
        ({"decision": "rejected", "reason": "too much"}, "reject"),
    ],
)
def test_a_data_part_decides(data: dict[str, Any], verdict: str) -> None:
    (answer,) = answers_of(_data(data), _asked("approval-1"), BASE)
    assert answer.decision == verdict
    assert answer.comment == ("too much" if verdict == "reject" else "")


@pytest.mark.parametrize("value", ["maybe", 1, [True], {"yes": True}])
def test_a_malformed_decision_is_refused(value: Any) -> None:
    with pytest.raises(RefusedError, match="must be true or false"):
        answers_of(_data({"approved": value}), _asked("approval-1"), BASE)


def test_hitl_decides_several_at_once() -> None:
    payload = {
        "type": "tool_approval_response",
        "approvals": [
            {"id": "approval-1", "approved": True},
            {"id": "approval-2", "approved": False, "rejection_reason": "no"},
        ],
    }
    answers = answers_of(_hitl(payload), _asked("approval-1", "approval-2"), BASE)
    assert [(a.request, a.decision, a.comment) for a in answers] == [
        ("approval-1", "approve", ""),
        ("approval-2", "reject", "no"),
    ]


BAD_HITL: list[Any] = [
    None,
    {},
    [],
    {"type": "tool_approval_response"},
    {"type": "tool_approval_response", "approvals": []},
    {"type": "tool_approval_response", "approvals": [{"id": "approval-1"}]},
    {"type": "tool_approval_response", "approvals": [{"id": "approval-1", "approved": "yes"}]},
    {"type": "tool_approval_response", "approvals": [{"id": "approval-9", "approved": True}]},
    {
        "type": "tool_approval_response",
        "approvals": [{"id": "approval-1", "approved": True}] * 2,
    },
    {
        "type": "tool_approval_response",
        "approvals": [
            {"id": "approval-1", "approved": True},
            {"id": "approval-2", "approved": True},
        ],
    },
    {"type": "tool_approval_request", "approvals": [{"id": "approval-1", "approved": True}]},
    {"type": "ask_user_response", "id": "approval-1"},
    {"type": "ask_user_response", "id": "approval-1", "answers": [{"answer": 5}]},
    {"type": "ask_user_response", "id": "approval-1", "answers": {"answer": ["x"]}},
    {"type": "ask_user_response", "id": "approval-1", "answers": [{"answer": "x"}, {}]},
]


@pytest.mark.parametrize("payload", BAD_HITL)
def test_a_malformed_hitl_payload_is_refused(payload: Any) -> None:
    with pytest.raises(RefusedError):
        answers_of(_hitl(payload), _asked("approval-1"), BASE)


def test_naming_the_extension_without_a_payload_is_refused() -> None:
    message = _text("approve")
    message.extensions.append(HITL_EXTENSION)
    with pytest.raises(RefusedError, match="carries no payload"):
        answers_of(message, _asked("approval-1"), BASE)


def test_hitl_answers_a_question() -> None:
    payload = {"type": "ask_user_response", "id": "input-1", "answers": [{"answer": ["blue"]}]}
    (answer,) = answers_of(_hitl(payload), _asked("input-1"), BASE)
    assert (answer.decision, answer.request, answer.answer) == ("answer", "input-1", "blue")


def test_whole_numbers_stay_whole() -> None:
    data = _data({"approved": True, "details": {"rates": [1, 0.5]}})
    (answer,) = answers_of(data, _asked("approval-1"), BASE)
    assert repr(answer.details) == "{'rates': [1, 0.5]}"
    assert repr(data_of(_data({"amount": 5}))) == "{'amount': 5}"


def test_keys_come_in_the_same_order_in_every_process() -> None:
    names = [f"item-{number:02}" for number in range(40)]
    fields = {name: dict.fromkeys(names, 1) for name in names}
    read = data_of(_data(fields))
    assert [list(read), list(read["item-07"])] == [names, names]
    (answer,) = answers_of(_data({"approved": True, "details": fields}), _asked("approval-1"), BASE)
    assert list(answer.details) == names
    (answer,) = answers_of(_data(fields), _asked("input-1"), BASE)
    assert list(answer.answer) == names
