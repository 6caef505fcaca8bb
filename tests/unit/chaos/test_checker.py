"""The checker finds what it is for, and nothing in a run in which all was well."""

from typing import Any

from tests.chaos import checker
from tests.chaos.journal import Exit, Fault, Refusal, Said, Seen, Streamed
from tests.support.ledger import Line
from tests.support.results import Json


def _task(state: str = "COMPLETED", *, at: int = 5, messages: tuple[str, ...] = ("m",)) -> Json:
    return {
        "id": "t",
        "status": {"state": f"TASK_STATE_{state}", "timestamp": f"2026-01-01T00:00:0{at}Z"},
        "history": [{"messageId": each, "role": "ROLE_USER"} for each in messages],
    }


def _with_artifact(task: Json, text: str) -> Json:
    return {**task, "artifacts": [{"artifactId": "a", "parts": [{"text": text}]}]}


def _seen(task: Json, asked: float, *, source: str = "get", took: float = 0.1) -> Seen:
    return Seen(task_id="t", asked=asked, answered=asked + took, source=source, task=task)


def _said(*acknowledged: str, **fields: Any) -> Said:
    return Said(message_id="m", text="echo x", acknowledged=set(acknowledged), **fields)


def _effect(key: str = "k", *, attempt: int = 1, at: float = 0, step: str = "s") -> Line:
    return Line(task="t", kind="effect", step=step, attempt=attempt, time=at, pid=7, key=key)


def test_a_message_in_its_one_task_is_fine() -> None:
    assert not checker.acknowledged_once([_said("t")], {"t": _task()})


def test_a_message_that_is_lost_doubled_or_in_two_tasks_is_found() -> None:
    said = [_said("t")]
    assert checker.acknowledged_once(said, {"t": _task(messages=())})
    assert checker.acknowledged_once(said, {"t": _task(messages=("m", "m"))})
    assert checker.acknowledged_once(said, {"t": _task(), "u": _task()})
    assert checker.acknowledged_once([_said("t", "u")], {"t": _task(), "u": _task(messages=())})


def test_a_refused_message_that_was_taken_is_found() -> None:
    assert checker.acknowledged_once([_said(refused=-32004)], {"t": _task()})
    assert not checker.acknowledged_once([_said(refused=-32004)], {"t": _task(messages=())})


def test_a_task_that_ends_otherwise_than_its_story_is_found() -> None:
    assert checker.settled({"t": _task("WORKING")}, {})
    assert checker.settled({"t": _task("FAILED")}, {"t": {"COMPLETED"}})
    assert not checker.settled({"t": _task("INPUT_REQUIRED")}, {"t": {"INPUT_REQUIRED"}})


def test_streams_that_differ_or_repeat_are_found() -> None:
    same: Json = {"task_id": "t", "opened": 2, "frames": 9, "final": {"state": "x"}}
    fine = Streamed(cursors=True, doubled=(), held={"state": "x"}, **same)
    assert not checker.streams_agree([fine])
    assert not checker.streams_agree([Streamed(cursors=False, doubled=(), held=None, **same)])
    assert checker.streams_agree([Streamed(cursors=True, doubled=(), held=None, **same)])
    assert checker.streams_agree([Streamed(cursors=True, doubled=(), held={"state": "y"}, **same)])
    assert checker.streams_agree([Streamed(cursors=True, doubled=("c",), held=fine.held, **same)])


def test_an_end_that_changes_is_found() -> None:
    assert checker.terminal_stays([_seen(_task(), 1), _seen(_task("CANCELED"), 2)])
    assert checker.terminal_stays([_seen(_task(), 1), _seen(_task("WORKING"), 2)])
    assert checker.terminal_stays([_seen(_task(), 1), _seen(_task(messages=("m", "n")), 2)])


def test_an_older_answer_to_an_earlier_call_is_no_fault() -> None:
    slow = _seen(_task("WORKING", at=1), 1, took=9)
    assert not checker.terminal_stays([_seen(_task(), 2), slow])
    assert not checker.never_backwards([_seen(_task(), 2), slow], {})


def test_going_back_in_time_messages_or_artifacts_is_found() -> None:
    early, late = _task("WORKING", at=1), _task("WORKING", at=2)
    assert checker.never_backwards([_seen(late, 1), _seen(early, 2)], {})
    more = _task("WORKING", messages=("m", "n"))
    assert checker.never_backwards([_seen(more, 1), _seen(_task("WORKING"), 2)], {})
    longer, shorter = _with_artifact(late, "abc"), _with_artifact(late, "ab")
    assert checker.never_backwards([_seen(longer, 1), _seen(shorter, 2)], {})
    assert not checker.never_backwards([_seen(shorter, 1), _seen(longer, 2)], {})


def test_a_lost_attempt_may_take_artifacts_back() -> None:
    looks = [_seen(_with_artifact(_task("WORKING"), "abc"), 1), _seen(_task("WORKING"), 2)]
    assert checker.never_backwards(looks, {})
    assert not checker.never_backwards(looks, {"t": 1})


def test_an_effect_under_two_keys_or_twice_in_an_attempt_is_found() -> None:
    said = [_said("t", effects=("s",))]
    finals = {"t": _task()}
    assert checker.effects_once(said, [_effect("k"), _effect("l")], finals)
    assert checker.effects_once(said, [_effect(), _effect()], finals)
    assert not checker.effects_once(said, [_effect(), _effect(attempt=2)], finals)


def test_an_effect_that_a_completed_task_lacks_is_found() -> None:
    said = [_said("t", effects=("s",))]
    assert checker.effects_once(said, [], {"t": _task()})
    assert not checker.effects_once(said, [], {"t": _task("CANCELED")})


def test_an_effect_that_was_approved_before_a_rejection_and_is_missing_is_found() -> None:
    said = [_said("t", effects=("s",), forbidden=("r",))]
    assert checker.effects_once(said, [], {"t": _task("REJECTED")})
    assert not checker.effects_once(said, [_effect()], {"t": _task("REJECTED")})


def test_an_effect_that_was_rejected_is_found_whatever_became_of_its_task() -> None:
    said = [_said("t", effects=("s",), forbidden=("r",))]
    lines = [_effect(), _effect("l", step="r")]
    for state in ("REJECTED", "COMPLETED", "WORKING"):
        assert checker.effects_once(said, lines, {"t": _task(state)})


def test_work_after_a_cancel_is_found_unless_its_process_could_not_know() -> None:
    reported = [_seen(_task("CANCELED"), 10)]
    assert not checker.silent_after_cancel(reported, [_effect(at=12)], [])
    assert checker.silent_after_cancel(reported, [_effect(at=20)], [])
    frozen = Fault(at=9, until=19, target="worker-1", action="freeze", pid=7)
    assert not checker.silent_after_cancel(reported, [_effect(at=20)], [frozen])
    other = Fault(at=9, until=19, target="worker-2", action="freeze", pid=8)
    assert checker.silent_after_cancel(reported, [_effect(at=20)], [other])
    assert checker.silent_after_cancel(reported, [_effect(at=30)], [frozen])


def test_a_process_that_ends_by_itself_is_found_unless_it_was_told_to_crash() -> None:
    ended = [Exit(at=1, name="worker-1", code=1, pid=7)]
    crash = Line(task="t", kind="crash", step="crash", attempt=1, time=1, pid=7)
    assert checker.nothing_crashed(ended, [])
    assert not checker.nothing_crashed(ended, [crash])


def test_an_error_that_tells_of_the_inside_is_found() -> None:
    fine = '{"jsonrpc": "2.0", "error": {"code": -32603, "message": "temporarily unavailable"}}'
    assert not checker.nothing_leaked([_refusal(fine)])
    assert checker.nothing_leaked([_refusal("RPCError: connect to 127.0.0.1:7233 failed")])
    assert checker.nothing_leaked([_refusal("Internal Server Error", code=0, status=500)])


def _refusal(body: str, *, code: int = -32603, status: int = 200) -> Refusal:
    return Refusal(call="get", code=code, status=status, body=body)


def test_a_receiver_that_was_not_told_the_end_is_found() -> None:
    finals = {"t": _task()}
    assert not checker.receivers_were_told(["t"], {"t": ["WORKING", "COMPLETED"]}, finals)
    assert not checker.receivers_were_told(["t"], {"t": ["COMPLETED", "COMPLETED"]}, finals)
    assert checker.receivers_were_told(["t"], {"t": ["WORKING"]}, finals)
    assert checker.receivers_were_told(["t"], {"t": ["COMPLETED", "WORKING"]}, finals)
