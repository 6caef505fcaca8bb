"""Answers to requests: how they are read, who may give them, and what they are for. Pure.

A request is open until it is decided, expires or is withdrawn. An answer names its request; one
that is stale, double, malformed or not entitled changes nothing, and a refusal says why.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from a2a_temporal._log import wire
from a2a_temporal._log.exact import InexactError, exact
from a2a_temporal._log.names import ANYONE, LONGEST_NAME, normal, normals
from a2a_temporal._log.requests import (
    RECORD_NAMES,
    OpenRequest,
    Record,
    RequestKind,
    details_hash,
)

# How to name a request where a bare yes may be a repetition, typed or sent, of an earlier one.
_NAMING = {"a2a": "'{decision} {id}'", "cli": "--request {id}"}
_LONGEST_ANSWER = 200_000
_LONGEST_TEXT = 1_000_000
_LONGEST_REFUSAL = 2_000
_LONGEST_NOTE = 100

AnswerKind = Literal["approve", "reject", "answer", "comment"]
Channel = Literal["a2a", "inbox", "cli", "temporal"]

SIGNAL_DECISIONS: dict[str, AnswerKind] = {
    wire.APPROVE_SIGNAL: "approve",
    wire.REJECT_SIGNAL: "reject",
    wire.ANSWER_SIGNAL: "answer",
}
"""The signals that a person types, and what each means."""

ANSWER_NAMES = {**RECORD_NAMES, "decision": "verdict"}
"""Fields whose name in JSON is another one."""

APPROVE_WORDS = frozenset({"approve", "approved", "yes"})
REJECT_WORDS = frozenset({"reject", "rejected", "deny", "denied", "no"})


class RefusedError(Exception):
    """An answer that does not count; the text says why and how to answer instead.

    It is published, and may quote what somebody sent: it is no longer than a person reads.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text if len(text) <= _LONGEST_REFUSAL else text[:_LONGEST_REFUSAL] + "…")


class ContradictionError(RefusedError):
    """An answer that says two things, or more than is read: nothing of it counts."""


@dataclass(frozen=True)
class Answer:
    """A person's answer to a request, before it is known whether it counts.

    ``verified`` says that a server authenticated ``by``; otherwise the name is only claimed. An
    answer with a ``token`` counts once, however often it is sent. ``seen`` is the hash of the
    details the person looked at: when they have changed since, the answer does not count.
    """

    decision: AnswerKind
    request: str = ""
    by: str = ""
    groups: tuple[str, ...] = ()
    verified: bool = False
    channel: Channel = "temporal"
    comment: str = ""
    details: Any = None
    answer: Any = None
    token: str = ""
    seen: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the argument of an ``a2a_decision`` signal."""
        return {ANSWER_NAMES.get(name, name): value for name, value in vars(self).items()}


_KINDS: dict[AnswerKind, tuple[RequestKind, ...]] = {
    "approve": ("approval",),
    "reject": ("approval",),
    "answer": ("input", "auth"),
    "comment": ("approval", "input", "auth"),
}
"""The kinds of requests that an answer is for."""


def find(requests: list[OpenRequest], answer: Answer) -> OpenRequest:
    """Return the open request an answer is for.

    Raises:
        RefusedError: It names none that is open, or names none while several are.
    """
    fitting = [request for request in requests if request.kind in _KINDS[answer.decision]]
    if answer.request:
        for request in fitting:
            if request.id == answer.request:
                return request
        raise RefusedError(
            f"Request {answer.request!r} is not waiting for an answer (any more). "
            f"{_waiting(requests)}"
        )
    if not fitting:
        raise RefusedError(f"Nothing waits for such an answer. {_waiting(requests)}")
    if len(fitting) > 1:
        raise RefusedError(f"Several requests are open: name one. {_waiting(requests)}")
    (only,) = fitting
    if only.explicit and answer.channel in _NAMING:
        how = _NAMING[answer.channel].format(decision=answer.decision, id=only.id)
        raise RefusedError(
            f"Something else was asked before, so name what you answer: {how} ({only.summary:.60})."
        )
    return only


def check_entitled(request: OpenRequest, answer: Answer) -> None:
    """Check that this person may decide this request now.

    Raises:
        RefusedError: They may not, or who they are is not known where it matters.
    """
    if answer.seen and answer.seen != details_hash(request.details):
        raise RefusedError(
            f"The details of {request.id!r} have changed since they were looked at. Look again."
        )
    if request.verified_only and not answer.verified:
        raise RefusedError(
            f"Request {request.id!r} takes only answers of people a server has authenticated: use "
            "the inbox or the A2A client."
        )
    four_eyes = request.excluded or request.requester
    if not normal(answer.by) and (request.named or four_eyes or request.quorum > 1):
        raise RefusedError(
            f'Request {request.id!r} needs to know who answers: add {{"by": "<your name>"}}.'
        )
    if request.excludes(answer.by):
        raise RefusedError(f"{answer.by!r} made the request and may not decide it (four eyes).")
    if any(normal(record.by) == normal(answer.by) for record in request.records):
        raise RefusedError(f"{answer.by or 'Somebody'!r} has already answered {request.id!r}.")
    if not _is_approver(request, answer):
        raise RefusedError(
            f"{answer.by or 'An unnamed caller'!r} may not decide {request.id!r}; "
            f"{', '.join(request.approvers)} may."
        )


def check_fits(answer: Answer) -> None:
    """Check that the log can hold what an answer brings, exactly: it is published several times.

    Raises:
        RefusedError: It is too long, or no JSON that everybody reads as the same.
    """
    try:
        exact(answer.details)
        exact([answer.comment, answer.by, *answer.groups], "the answer")
        text = answered_text(answer.answer)
        size = len(json.dumps([answer.details, answer.comment, answer.by], allow_nan=False))
        _check_length(size, _LONGEST_ANSWER)
        if answer.channel != "a2a":  # what a client says is in the log already, as its message
            exact(text, "the answer")
            _check_length(len(json.dumps(text)), _LONGEST_TEXT)
    except InexactError as error:
        raise RefusedError(f"The details must be JSON that all read alike. {error}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise RefusedError("The details must be JSON: without NaN and Infinity.") from error
    if len(answer.by) > LONGEST_NAME:
        raise RefusedError(f"A name has at most {LONGEST_NAME} characters.")
    check_comment(answer.decision, answer.comment)


def check_answered(request: OpenRequest, answer: Answer) -> None:
    """Check that an answer to a question says something.

    Raises:
        RefusedError: It does not.
    """
    empty = answer.answer in (None, "") and not answer.comment
    if request.kind == "input" and answer.decision == "answer" and empty:
        raise RefusedError(f'{request.id!r} asks for words: add {{"answer": "<your answer>"}}.')


def _check_length(size: int, most: int) -> None:
    if size > most:
        raise RefusedError(f"The answer is {size} characters long; {most} at most are taken.")


def answered_text(answer: Any) -> str:
    """Return an answer as a text: what is none as JSON."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def record_of(request: OpenRequest, answer: Answer, *, at: str, before: Any = None) -> Record:
    """Return the audit record of an answer.

    Args:
        request: The request, with the details that the answer is about.
        answer: The answer; with ``details`` where it has changed them.
        at: When.
        before: The details before a change.
    """
    return Record(
        request=request.id,
        summary=request.summary,
        details_sha256=details_hash(request.details),
        decision=answer.decision,
        by=answer.by,
        verified=answer.verified,
        channel=answer.channel,
        at=at,
        comment=answer.comment,
        changed_details=answer.details is not None,
        details=request.details,
        before=before,
    )


def speaker_of(request: dict[str, Any]) -> Answer:
    """Return who speaks in a client's message, from what its entry says of the call."""
    groups: Any = request.get("groups", [])
    names = [request.get(name) for name in ("known_as", "user")]
    return Answer(
        "answer",
        by=next((name for name in names if isinstance(name, str) and name), ""),
        groups=tuple(each for each in cast("list[Any]", groups) if isinstance(each, str))
        if isinstance(groups, list)
        else (),
        verified=request.get("authenticated") is True,
        channel="a2a",
    )


def asks(request: OpenRequest, names: Iterable[str]) -> bool:
    """Say whether a request names one of these people and groups, or everybody."""
    return ANYONE in request.approvers or bool(normals(names) & normals(request.approvers))


_SIGNAL_FIELDS: dict[str, tuple[str, ...]] = {
    "approve": ("by", "as", "request", "comment", "details"),
    "reject": ("by", "as", "request", "comment"),
    "answer": ("by", "as", "request", "comment", "answer"),
}


def parse_answer(signal: str, value: Any) -> Answer:
    """Read the argument of an ``approve``, ``reject`` or ``answer`` signal typed by a person.

    Raises:
        RefusedError: The argument is not what such a signal takes.
    """
    decision = SIGNAL_DECISIONS[signal]
    if value is None or value == "":
        return Answer(decision)
    if isinstance(value, str):
        check_comment(decision, value)
        return Answer(decision, comment="" if decision == "answer" else value, answer=value)
    if not isinstance(value, dict):
        raise RefusedError(
            f"The {signal} signal takes a JSON object such as "
            '{"by": "you", "comment": "why", "request": "id"}, ' + f"not {value!r:.80}."
        )
    fields = cast("dict[str, Any]", value)
    if decision != "answer":
        much = [fields.get("details"), fields.get("comment")]
        _check_length(len(json.dumps(much)), _LONGEST_ANSWER)
    check_keys(fields, _SIGNAL_FIELDS[decision], f"The {signal} signal")
    for name in ("by", "comment", "request", "as"):
        text_in(fields, name)
    group, comment = text_in(fields, "as"), text_in(fields, "comment")
    check_comment(decision, comment)
    return Answer(
        decision,
        request=text_in(fields, "request"),
        by=text_in(fields, "by") if normal(text_in(fields, "by")) else "",
        groups=(group,) if group else (),
        comment=comment,
        details=fields.get("details"),
        answer=fields.get("answer"),
    )


def check_keys(fields: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    """Check that an answer holds nothing that is not read.

    Raises:
        ContradictionError: Something would not be.
    """
    unread = sorted(str(name) for name in fields if name not in known)
    if unread:
        raise ContradictionError(
            f"{what} takes {', '.join(known)}; what {unread[0]!r:.60} is to mean is not known, so "
            "nothing of it counts."
        )


def text_in(fields: dict[str, Any], name: str) -> str:
    """Return a text among the fields of an answer, empty where it has none.

    Raises:
        ContradictionError: It is something else.
    """
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise ContradictionError(f"{name!r} must be a text, got {value!r:.80}.")
    return value


def check_comment(decision: AnswerKind, comment: str) -> None:
    """Check that a yes does not come with a comment that begins with a no, or the other way round.

    Raises:
        ContradictionError: It does.
    """
    opposite = {"approve": "reject", "reject": "approve"}.get(decision)
    if opposite in {word for line in comment.split("\n") for word in opens_with(line)}:
        raise ContradictionError(f"'{decision}' came with the comment {comment!r:.80}.")


_OPENING = re.compile(
    r"\W*(?:(?P<approve>approve|(?:approved|yes)(?={end}))"
    r"|(?P<reject>reject|deny|(?:rejected|denied|no)(?={end})))(?!\w)".replace(
        "{end}", r"\W*$|[,.;:!]|\s+[-\u2013\u2014]"
    )
)


def opens_with(line: str) -> tuple[AnswerKind, ...]:
    """Return the decision that a line of text begins with, as "reject, too expensive" does."""
    found = _OPENING.match(normal(line[:_LONGEST_NOTE]))
    return () if found is None else (cast("AnswerKind", found.lastgroup),)


def parse_decision(value: Any) -> Answer | None:
    """Read an ``a2a_decision`` signal, which only the library's own servers and tools write.

    They have authenticated the person and checked the form; anything else reads as ``None``.
    """
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    names = {name: ANSWER_NAMES.get(name, name) for name in Answer.__dataclass_fields__}
    known = {name: fields[key] for name, key in names.items() if key in fields}
    texts = ("request", "by", "comment", "token", "seen")
    groups: Any = known.pop("groups", [])
    right = (
        known.get("decision") in get_args(AnswerKind)
        and known.get("channel", "temporal") in get_args(Channel)
        and all(isinstance(known.get(name, ""), str) for name in texts)
        and isinstance(known.get("verified", False), bool)
        and isinstance(groups, list)
        and all(isinstance(each, str) for each in cast("list[Any]", groups))
    )
    return Answer(**known, groups=tuple(cast("list[str]", groups))) if right else None


def _is_approver(request: OpenRequest, answer: Answer) -> bool:
    if not request.approvers or asks(request, [answer.by, *answer.groups]):
        return True
    # An operator with write access to the namespace, recorded as claimed.
    return not normal(answer.by) and answer.channel in ("temporal", "cli")


def _waiting(requests: list[OpenRequest]) -> str:
    if not requests:
        return "Nothing is waiting."
    return "Waiting: " + "; ".join(f"{each.id} ({each.summary:.60})" for each in requests) + "."
