"""What a page shows of a task: plain values for the templates, nothing trusted in them."""

import json
from dataclasses import dataclass
from typing import Any, Literal, cast

from a2a.types.a2a_pb2 import Artifact, Message, Part, TaskState
from google.protobuf.json_format import MessageToDict

from a2a_temporal._log.names import same
from a2a_temporal._log.published import is_published, is_the_agents, published
from a2a_temporal._log.requests import RULE, OpenRequest, Record, canonical, details_hash
from a2a_temporal._log.state import LogState, state_name
from a2a_temporal._server.records import records_of
from a2a_temporal._server.waiting import Person, Waiting, why_not
from a2a_temporal.inbox._details_form import in_order

_STATES = {
    TaskState.TASK_STATE_INPUT_REQUIRED: "Waiting for an answer",
    TaskState.TASK_STATE_AUTH_REQUIRED: "Waiting for a credential",
    TaskState.TASK_STATE_WORKING: "Working",
    TaskState.TASK_STATE_SUBMITTED: "Not started yet",
    TaskState.TASK_STATE_COMPLETED: "Completed",
    TaskState.TASK_STATE_FAILED: "Failed",
    TaskState.TASK_STATE_CANCELED: "Canceled",
    TaskState.TASK_STATE_REJECTED: "Rejected by the agent",
}
_VERBS = {
    "approve": "approved",
    "reject": "rejected",
    "comment": "commented",
    "answer": "answered",
    "expire": "let expire",
    "escalate": "escalated",
    "withdraw": "took back",
}


@dataclass(frozen=True)
class Piece:
    """A part of a message or an artifact. ``index`` finds the bytes of a file."""

    kind: Literal["text", "data", "file", "link"]
    text: str = ""
    data: Any = None
    size: int = 0
    index: int = 0


@dataclass(frozen=True)
class Said:
    """One entry of the conversation."""

    who: Literal["person", "agent", "decision", "refused"]
    pieces: list[Piece]
    record: Record | None = None


@dataclass(frozen=True)
class Asked:
    """An open request as this person sees it; ``why_not`` says why they cannot decide it."""

    request: OpenRequest
    why_not: str
    seen: str
    person: str = ""
    mine: Record | None = None

    @property
    def details(self) -> Any:
        """What is approved, in the author's order."""
        return in_order(self.request.schema, self.request.details)

    @property
    def note(self) -> str:
        """What to say in the place of the buttons."""
        if self.mine is not None:
            return f"You have {verb(self.mine.decision)} this; it waits for others."
        return self.why_not and _refusal(self.request, self.why_not, self.person)

    @property
    def approvals(self) -> int:
        """The approvals so far."""
        return len(self.request.records)


@dataclass(frozen=True)
class Row:
    """A task of the list."""

    task_id: str
    agent: str
    owner: str
    summary: str
    more: int = 0
    deadline: str = ""
    asked_at: str = ""
    progress: str = ""
    note: str = ""
    quiet: bool = False
    problem: str = ""


def row_of(waiting: Waiting, person: Person) -> Row:
    """Return what the list shows of a task: the request that this person can act on first."""
    start = waiting.state.start
    asked = sorted(asked_of(waiting, person), key=lambda each: bool(each.why_not))
    if not asked:
        note = "" if start.owner == person.name else f"asked by {start.owner or 'nobody known'}"
        summary = waiting.question or state_text(waiting.state)
        problem = " ".join(waiting.problems)
        return Row(waiting.task_id, start.agent, start.owner, summary, note=note, problem=problem)
    first = asked[0].request
    return Row(
        waiting.task_id,
        start.agent,
        start.owner,
        first.summary,
        more=len(asked) - 1,
        deadline=first.deadline,
        asked_at=first.asked_at,
        progress=f"{len(first.records)} of {first.quorum}" if first.quorum > 1 else "",
        note=_note(asked[0], waiting, person),
        quiet=bool(asked[0].why_not) or bool(waiting.pending),
        problem=" ".join(waiting.problems),
    )


def asked_of(waiting: Waiting, person: Person) -> list[Asked]:
    """Return the open requests with what this person may do about each."""
    return [
        Asked(
            each,
            why_not(person, each, waiting.state),
            details_hash(each.details),
            person.name,
            next((record for record in each.records if same(record.by, person.name)), None),
        )
        for each in waiting.requests
    ]


def conversation_of(waiting: Waiting) -> list[Said]:
    """Return the conversation, oldest first, without the question that is still open."""
    state = waiting.state
    messages = [*state.task.history]
    if state.task.status.HasField("message"):
        messages.append(state.task.status.message)
    said = [_said(each, by_agent=is_the_agents(state, each)) for each in messages]
    if waiting.past:
        return [each for each in said if each.record]
    if said and said[-1].who == "agent" and state.interrupted:
        said.pop()
    return [each for each in said if each.pieces or each.record]


def state_text(state: LogState) -> str:
    """Return the task's state in words."""
    return _STATES.get(state.task.status.state, state_name(state.task.status.state))


def pieces_of(holder: Message | Artifact) -> list[Piece]:
    """Return the parts of a message or artifact; data that only repeats a request is left out."""
    return [_piece(part, index) for index, part in enumerate(holder.parts)]


def verb(decision: str) -> str:
    """Return a decision in the past tense."""
    return _VERBS.get(decision, decision)


def decided_text(state: LogState, request_id: str, person: Person) -> str:
    """Say who decided a request that is no longer open; empty when nobody did."""
    found = [each for each in records_of(state).values() if each.request == request_id]
    counted = [each for each in found if each.decision not in ("comment", "escalate")]
    if not counted:
        return ""
    last = counted[-1]
    if last.changed_details and state.interrupted:
        return (
            f"{last.who} has changed the details meanwhile, so they are asked "
            "about again: see below."
        )
    if last.channel == RULE:
        return f"This is closed since {last.at[11:16]} UTC: {last.by}."
    who = "You have" if same(last.by, person.name) else f"{last.who} has"
    return f"{who} already {verb(last.decision)} this, at {last.at[11:16]} UTC."


def pretty(value: Any) -> str:
    """Return JSON for reading."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _said(message: Message, *, by_agent: bool) -> Said:
    pieces = pieces_of(message)
    if not by_agent:
        return Said("person", pieces)
    report = published(message)
    if report.record is not None:
        return Said("decision", [], report.record)
    if not is_published(message):
        return Said("agent", pieces)
    if report.refused:
        return Said("refused", pieces[:1])
    # The details of a request stand in its own card.
    return Said("agent", [each for each in pieces if not _repeats_request(each)])


def _repeats_request(piece: Piece) -> bool:
    if piece.kind != "data" or not isinstance(piece.data, dict):
        return False
    return set(cast("dict[str, Any]", piece.data)) == {"request", "details"}


def _piece(part: Part, index: int) -> Piece:
    if part.HasField("data"):
        return Piece("data", data=canonical(MessageToDict(part.data)))
    name = part.filename or part.media_type or "file"
    if part.HasField("url"):
        return Piece("link", text=name, data=part.url)
    if part.HasField("raw"):
        return Piece("file", text=name, size=len(part.raw), index=index)
    return Piece("text", text=part.text)


def _refusal(request: OpenRequest, reason: str, person: str) -> str:
    if request.verified_only:
        return reason
    if request.excludes(person):
        return "You made this request, so somebody else has to decide it."
    if request.approvers:
        return f"Only {' or '.join(request.approvers)} may decide this."
    return reason


def _note(asked: Asked, waiting: Waiting, person: Person) -> str:
    request = asked.request
    if asked.mine is not None:
        return f"you have {verb(asked.mine.decision)}, waits for others"
    if waiting.pending:
        return "an answer is stored, waiting for a worker"
    if asked.why_not:
        return f"waits for {', '.join(request.approvers) or 'others'}"
    return (
        ""
        if waiting.state.start.owner in ("", person.name)
        else (f"asked by {waiting.state.start.owner}")
    )
