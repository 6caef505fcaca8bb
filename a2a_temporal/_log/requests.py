"""Requests to people: what is asked, who may answer, and what an answer does. Pure.

A request is open until it is decided, expires or is withdrawn. An answer names its request; one
that is stale, double, malformed or not entitled changes nothing and is told why. The workflow keeps
the open requests and publishes them in the metadata of the status message under
:data:`APPROVALS_EXTENSION`, so every reader of the log (the inbox, a client) sees the same.
"""

import contextlib
import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast

from a2a.types.a2a_pb2 import Message

from a2a_temporal._log.protojson import to_json

APPROVALS_EXTENSION = "https://a2a-temporal.dev/extensions/approvals/v1"
"""Key of open requests and decision records in message metadata."""

PROPERTY_ORDER = "x-order"
"""Key of a JSON schema's object that lists its properties in the author's order."""

ANYONE = "*"

# How to name a request where a bare yes may be a repetition, typed or sent, of an earlier one.
_NAMING = {"a2a": "'{verdict} {id}'", "cli": "--request {id}"}
_LONGEST_ANSWER = 200_000
_LONGEST_TOLD = 1_000_000
_LONGEST_REFUSAL = 2_000
_DEEPEST_DETAILS = 20

RequestKind = Literal["approval", "input", "auth"]
Verdict = Literal["approve", "reject", "answer", "comment"]
Door = Literal["a2a", "inbox", "cli", "temporal"]


class RefusedError(Exception):
    """An answer that does not count; the text says why and how to answer instead.

    It is published, and may quote what somebody sent: it is no longer than a person reads.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text if len(text) <= _LONGEST_REFUSAL else text[:_LONGEST_REFUSAL] + "…")


@dataclass(frozen=True)
class Answer:
    """What somebody said to a request, before it is known whether it counts.

    ``verified`` says that a server authenticated ``by``; otherwise the name is only claimed. An
    answer with a ``token`` counts once, however often it is sent. ``seen`` is the hash of the
    details the person looked at: when they have changed since, the answer does not count.
    """

    verdict: Verdict
    request: str = ""
    by: str = ""
    groups: tuple[str, ...] = ()
    verified: bool = False
    door: Door = "temporal"
    comment: str = ""
    details: Any = None
    answer: Any = None
    token: str = ""
    seen: str = ""


@dataclass(frozen=True)
class Record:
    """One decision as the audit keeps it: who, when, through which door, about exactly what."""

    request: str
    summary: str
    details_sha256: str
    decision: str
    by: str
    verified: bool
    door: str
    at: str
    comment: str = ""
    changed_details: bool = False


@dataclass
class OpenRequest:
    """A request that waits for people.

    ``details`` is plain JSON and ``schema`` its JSON schema; ``deadline`` and ``asked_at`` are RFC
    3339 in UTC. ``records`` holds the answers that count towards the quorum so far. ``named`` says
    that only answers count that say who gives them; ``excluded`` may not decide it, nor may the
    ``requester``, who has another name where tasks do not belong to those who make them;
    ``explicit`` that an answer in words must name
    the request, because the task has asked for another approval before.
    """

    id: str
    kind: RequestKind
    summary: str
    asked_at: str
    details: Any = None
    schema: dict[str, Any] | None = None
    approvers: list[str] = field(default_factory=list[str])
    quorum: int = 1
    excluded: str = ""
    verified_only: bool = False
    named: bool = False
    explicit: bool = False
    requester: str = ""
    deadline: str = ""
    choices: list[str] = field(default_factory=list[str])
    records: list[Record] = field(default_factory=list[Record])

    def excludes(self, name: str) -> bool:
        """Say whether somebody may not decide this because they have made it."""
        return bool(name) and name in (self.excluded, self.requester)

    def to_json(self) -> dict[str, Any]:
        """Return the request as plain JSON, empty fields left out."""
        return {name: value for name, value in asdict(self).items() if value or name == "details"}

    @staticmethod
    def from_json(value: dict[str, Any]) -> "OpenRequest":
        """Read what :meth:`to_json` wrote; unknown fields are ignored."""
        known = {name: value[name] for name in OpenRequest.__dataclass_fields__ if name in value}
        known["records"] = [_record(record) for record in known.get("records", [])]
        known["quorum"] = int(known.get("quorum", 1))
        known["details"] = canonical(known.get("details"))
        return OpenRequest(**known)


def open_requests(message: Message) -> list[OpenRequest]:
    """Return the open requests a status message publishes; a malformed one counts as none."""
    about = _about(message)
    requests: list[OpenRequest] = []
    for each in about.get("requests", []):
        with contextlib.suppress(TypeError, ValueError, AttributeError):
            requests.append(OpenRequest.from_json(each))
    return requests


def record_in(message: Message) -> Record | None:
    """Return the audit record a status message publishes, if there is one."""
    with contextlib.suppress(TypeError, AttributeError):
        return _record(_about(message)["record"]) if "record" in _about(message) else None
    return None


def handled_token(message: Message) -> tuple[str, str]:
    """Return the token of the answer a status message reports on, and why it was refused, if so."""
    about = _about(message)
    return str(about.get("token", "")), str(about.get("refused", ""))


def _about(message: Message) -> dict[str, Any]:
    if APPROVALS_EXTENSION not in message.metadata:
        return {}
    about = to_json(message.metadata)[APPROVALS_EXTENSION]
    return cast("dict[str, Any]", about) if isinstance(about, dict) else {}


def details_hash(details: Any) -> str:
    """Return the SHA-256 of details as canonical JSON: sorted keys, no spaces, 5.0 written 5.

    The workflow and whoever reads the log compute the same, although a protobuf ``Struct`` knows
    no integers.
    """
    text = json.dumps(canonical(details), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def canonical(value: Any) -> Any:
    """Return plain JSON with whole numbers written as such."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: canonical(each) for name, each in fields.items()}
    if isinstance(value, list):
        return [canonical(each) for each in cast("list[Any]", value)]
    return value


def kinds_for(verdict: Verdict) -> tuple[RequestKind, ...]:
    """Return the kinds of requests that such an answer is for."""
    if verdict == "comment":
        return ("approval", "input", "auth")
    return ("input", "auth") if verdict == "answer" else ("approval",)


def find(
    requests: list[OpenRequest], answer: Answer, kinds: tuple[RequestKind, ...]
) -> OpenRequest:
    """Return the open request an answer is for.

    Raises:
        RefusedError: It names none that is open, or names none while several are.
    """
    if answer.request:
        for request in requests:
            if request.id == answer.request and request.kind in kinds:
                return request
        raise RefusedError(
            f"Request {answer.request!r} is not waiting for an answer (any more). "
            f"{_waiting(requests)}"
        )
    fitting = [request for request in requests if request.kind in kinds]
    if not fitting:
        raise RefusedError(f"Nothing waits for such an answer. {_waiting(requests)}")
    if len(fitting) > 1:
        raise RefusedError(f"Several requests are open: name one. {_waiting(requests)}")
    (only,) = fitting
    if only.explicit and answer.door in _NAMING:
        how = _NAMING[answer.door].format(verdict=answer.verdict, id=only.id)
        raise RefusedError(
            f"Something else was asked before, so name what you answer: {how} ({only.summary:.60})."
        )
    return only


def check_entitled(request: OpenRequest, answer: Answer) -> None:
    """Check that this person may decide this request now.

    Raises:
        RefusedError: They may not, or it cannot be told who they are where it matters.
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
    if not answer.by and (request.named or four_eyes or request.quorum > 1):
        raise RefusedError(
            f'Request {request.id!r} needs to know who answers: add {{"by": "<your name>"}}.'
        )
    if request.excludes(answer.by):
        raise RefusedError(f"{answer.by!r} made the request and may not decide it (four eyes).")
    if any(record.by == answer.by for record in request.records):
        raise RefusedError(f"{answer.by or 'Somebody'!r} has already answered {request.id!r}.")
    if not _is_approver(request, answer):
        raise RefusedError(
            f"{answer.by or 'An unnamed caller'!r} may not decide {request.id!r}; "
            f"{', '.join(request.approvers)} may."
        )


def check_fits(answer: Answer) -> None:
    """Check that the log can hold what an answer brings: it is published, details three times.

    Raises:
        RefusedError: It is too long, nested too deeply, or no JSON.
    """
    try:
        size = len(json.dumps([answer.details, answer.comment, answer.by], allow_nan=False))
        told = len(json.dumps(answered_text(answer.answer)))
    except (ValueError, TypeError, RecursionError) as error:
        raise RefusedError("The details must be JSON: without NaN and Infinity.") from error
    _check_length(size, _LONGEST_ANSWER)
    if answer.door != "a2a":  # what a client says is in the log already, as its message
        _check_length(told, _LONGEST_TOLD)
    if _depth(answer.details) > _DEEPEST_DETAILS:
        raise RefusedError(f"The details are nested deeper than {_DEEPEST_DETAILS} levels.")


def _check_length(size: int, most: int) -> None:
    if size > most:
        raise RefusedError(f"The answer is {size} characters long; {most} at most are taken.")


def answered_text(answer: Any) -> str:
    """Return an answer as a text: what is none as JSON."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def record_of(request: OpenRequest, answer: Answer, *, at: str) -> Record:
    """Return the audit record of an answer."""
    return Record(
        request=request.id,
        summary=request.summary,
        details_sha256=details_hash(request.details),
        decision=answer.verdict,
        by=answer.by,
        verified=answer.verified,
        door=answer.door,
        at=at,
        comment=answer.comment,
        changed_details=answer.details is not None,
    )


def parse_answer(verdict: Verdict, value: Any) -> Answer:
    """Read the argument of an ``approve``, ``reject`` or ``answer`` signal typed by a person.

    Raises:
        RefusedError: The argument is not what such a signal takes.
    """
    if value is None or value == "":
        return Answer(verdict)
    if isinstance(value, str):
        return Answer(verdict, comment="" if verdict == "answer" else value, answer=value)
    if not isinstance(value, dict):
        raise RefusedError(
            f"The {verdict} signal takes a JSON object such as "
            '{"by": "you", "comment": "why", "request": "id"}, ' + f"not {value!r:.80}."
        )
    fields = cast("dict[str, Any]", value)
    for name in ("by", "comment", "request", "as"):
        if not isinstance(fields.get(name, ""), str):
            raise RefusedError(f"{name!r} must be a text, got {fields[name]!r:.80}.")
    group = str(fields.get("as", ""))
    return Answer(
        verdict,
        request=str(fields.get("request", "")),
        by=str(fields.get("by", "")),
        groups=(group,) if group else (),
        comment=str(fields.get("comment", "")),
        details=fields.get("details"),
        answer=fields.get("answer"),
    )


def parse_decision(value: Any) -> Answer | None:
    """Read an ``a2a_decision`` signal, which only the library's own doors write.

    They have authenticated the person and checked the form; anything else reads as ``None``.
    """
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    known = {name: fields[name] for name in Answer.__dataclass_fields__ if name in fields}
    if known.get("verdict") not in ("approve", "reject", "answer", "comment"):
        return None
    groups = known.get("groups", [])
    known["groups"] = (
        tuple(str(each) for each in cast("list[Any]", groups)) if isinstance(groups, list) else ()
    )
    known["verified"] = known.get("verified") is True
    for name in ("request", "by", "comment", "door", "token", "seen"):
        known[name] = str(known.get(name, ""))
    return Answer(**known)


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, cast("dict[str, Any]", value).values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, cast("list[Any]", value)), default=0)
    return 0


def _record(value: dict[str, Any]) -> Record:
    return Record(**{name: value[name] for name in Record.__dataclass_fields__ if name in value})


def _is_approver(request: OpenRequest, answer: Answer) -> bool:
    if not request.approvers or ANYONE in request.approvers:
        return True
    if not answer.by and answer.door in ("temporal", "cli"):
        return True  # an operator with write access to the namespace, recorded as claimed
    return bool({answer.by, *answer.groups} & set(request.approvers))


def _waiting(requests: list[OpenRequest]) -> str:
    if not requests:
        return "Nothing is waiting."
    return "Waiting: " + "; ".join(f"{each.id} ({each.summary:.60})" for each in requests) + "."
