"""What the Temporal UI says of a parked task is enough to answer it."""

from dataclasses import replace

from a2a_temporal._log.requests import OpenRequest, Record
from a2a_temporal._worker.approvals.current_details import current_details

AT = "2026-12-01T10:00:00.000Z"
REQUEST = OpenRequest(
    "approval-1",
    "approval",
    "Pay 5 to X?",
    AT,
    details={"payee": "X", "amount": 5},
    approvers=["finance", "bob"],
    quorum=2,
    excluded="carl",
    deadline=AT,
    records=[Record("approval-1", "Pay", "h", "approve", "ann", True, "inbox", AT)],
)


def shown(request: OpenRequest) -> str:
    return current_details([request], task_id="t'1", owner="carl")


def test_it_says_what_is_asked_of_whom_until_when_and_what_happened() -> None:
    text = shown(REQUEST)
    assert "## Pay 5 to X?" in text
    assert "2 of finance or bob (1 so far)" in text
    assert "carl, who may not decide it" in text
    assert "Tue 1 Dec 2026, 10:00 UTC" in text
    assert "ann **approved**" in text
    assert "payee: X" in text


def test_it_says_who_may_not_decide_where_a_task_belongs_to_others_than_its_user() -> None:
    text = shown(replace(REQUEST, requester="rita"))
    assert "**Asked by** rita for carl, neither of whom may decide it" in text
    nobody = current_details(
        [replace(REQUEST, excluded="", requester="rita")], task_id="t", owner=""
    )
    assert "**Asked by** rita, who may not decide it" in nobody


def test_it_says_the_exact_signal() -> None:
    text = shown(REQUEST)
    data = '{"by": "your name", "as": "finance", "request": "approval-1", "comment": "why"}'
    assert f"`{data}`" in text
    assert "signal `reject`" in text
    assert "--name approve" in text


def test_a_question_is_answered_by_another_signal() -> None:
    text = shown(OpenRequest("input-1", "input", "Which?", AT, choices=["a", "b"]))
    assert "--name answer" in text
    assert '"answer": "a"' in text
    assert "Asked of** carl" in text


def test_where_a_signal_by_hand_does_not_count_none_is_offered() -> None:
    assert "workflow signal" not in shown(replace(REQUEST, verified_only=True))


def test_what_agents_wrote_stays_text() -> None:
    evil = "# x\n\n[click](https://evil.example) <img src=x> ``` `"
    text = shown(replace(REQUEST, summary=evil, details={evil: evil}, choices=[evil]))
    assert "\n[click]" not in text
    assert "<img" not in text.replace("`", "").split("Offered")[0]


def test_nothing_asked_is_nothing_said() -> None:
    assert current_details([], task_id="t", owner="") == ""
