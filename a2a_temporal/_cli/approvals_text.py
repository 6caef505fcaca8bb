"""What ``a2a-temporal approvals`` prints. What agents wrote cannot steer the terminal."""

import json
import shutil
import sys
from datetime import datetime, timezone
from typing import Any

from a2a.types.a2a_pb2 import Message, Role

from a2a_temporal._log.requests import OpenRequest, details_hash
from a2a_temporal._log.state import state_name
from a2a_temporal._server.approvals import ASKS_NOTHING, Outcome
from a2a_temporal._server.records import records_of
from a2a_temporal._server.waiting import Waiting

_NARROWEST, _WIDEST = 80, 400
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
_PAST = {
    "approve": "Approved",
    "reject": "Rejected",
    "answer": "Answered",
    "comment": "Commented",
    "expire": "Expired",
    "escalate": "Escalated",
    "withdraw": "Taken back",
}


def plain(text: str, *, lines: bool = False) -> str:
    """Return text without control characters; line breaks stay only where they are wanted."""
    kept = "\n\t" if lines else ""
    return "".join(each if each.isprintable() or each in kept else "�" for each in text)


def listing(tasks: list[Waiting], *, more: int) -> str:
    """Return a table of what waits."""
    if not tasks:
        return "Nothing waits for an answer."
    rows = [("TASK", "REQUEST", "DUE", "ASKED OF", "WHAT"), *_rows(tasks)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    width = max(_NARROWEST, shutil.get_terminal_size().columns)
    if not sys.stdout.isatty():
        width = _WIDEST
    lines = [
        "  ".join([*(cell.ljust(size) for cell, size in zip(row, widths, strict=False)), row[4]])
        for row in rows
    ]
    lines = [line if len(line) <= width else line[: width - 1] + "…" for line in lines]
    if more:
        lines.append(f"… and {more} more: --limit {len(tasks) + more}")
    return "\n".join(lines)


def page_of(waiting: Waiting) -> str:
    """Return everything about a task."""
    state = waiting.state
    lines = [
        f"Task      {plain(waiting.task_id)}",
        f"Agent     {plain(state.start.agent)}",
        f"Asked by  {plain(state.start.owner) or '(nobody signed in)'}",
        f"State     {state_name(state.task.status.state)}",
    ]
    for request in waiting.requests:
        lines += ["", *_request_lines(request)]
    lines += [f"Not readable  {plain(each)}" for each in waiting.problems]
    if not waiting.requests and state.interrupted:
        lines += ["", plain(waiting.question, lines=True)]
    if not waiting.requests and state.start.plain and not state.terminal:
        lines += ["", ASKS_NOTHING]
    for pending in waiting.pending:
        by = f" by {plain(pending.answer.by)}" if pending.answer.by else ""
        lines += ["", f"Stored, waiting for a worker: {pending.answer.decision}{by}, {pending.at}"]
    lines += ["", "What happened"]
    for message in [*state.task.history, state.task.status.message]:
        text = _text(message)
        if text:
            who = "agent " if message.role == Role.ROLE_AGENT else "client"
            lines.append(f"  {who}  {plain(text).strip()}")
    for artifact in state.task.artifacts:
        lines.append(f"  artifact  {plain(artifact.name or artifact.artifact_id)}")
    if waiting.requests:
        lines += ["", *_commands(waiting)]
    return "\n".join(lines)


def outcome_text(outcome: Outcome, decision: str, after: Waiting) -> str:
    """Return what became of an answer."""
    if not outcome.handled:
        return (
            f"Stored (token {outcome.token}). No worker has looked at it yet; it counts as soon as "
            "one does."
        )
    if outcome.record is None:
        return f"{_PAST[decision]}."
    text = f"{_PAST.get(outcome.record.decision, 'Done')}: {plain(outcome.record.summary)}"
    for request in after.requests:
        if request.kind == "approval" and request.quorum > 1 and request.records:
            text += f" ({len(request.records)} of {request.quorum}, as {request.id})"
    return text


def waiting_json(waiting: Waiting) -> dict[str, Any]:
    """Return a task as plain JSON."""
    state = waiting.state
    return {
        "task": waiting.task_id,
        "agent": state.start.agent,
        "owner": state.start.owner,
        "tenant": state.start.tenant,
        "context": state.task.context_id,
        "state": state_name(state.task.status.state),
        "question": waiting.question,
        "requests": [
            {**each.to_json(), "details_sha256": details_hash(each.details)}
            for each in waiting.requests
        ],
        "pending": [
            {"verdict": each.answer.decision, "by": each.answer.by, "at": each.at}
            for each in waiting.pending
        ],
        "records": [each.to_json() for each in records_of(state).values()],
        "problems": waiting.problems,
    }


def _rows(tasks: list[Waiting]) -> list[tuple[str, str, str, str, str]]:
    rows: list[tuple[str, str, str, str, str]] = []
    for task in tasks:
        for each in task.requests:
            asked = ", ".join(each.approvers) or task.state.start.owner or "-"
            due = _due(each.deadline)
            what = plain(each.summary)
            rows.append((plain(task.task_id), plain(each.id), due, plain(asked), what))
        if not task.requests:
            owner = plain(task.state.start.owner) or "-"
            rows.append((plain(task.task_id), "-", "-", owner, plain(task.question)))
    return rows


def _request_lines(request: OpenRequest) -> list[str]:
    lines = [f"{plain(request.id)}: {plain(request.summary)}"]
    if request.approvers:
        lines.append(f"  asked of   {plain(', '.join(request.approvers))}")
    if request.quorum > 1:
        lines.append(f"  approvals  {len(request.records)} of {request.quorum}")
    if request.deadline:
        lines.append(f"  due        {plain(request.deadline)} (in {_due(request.deadline)})")
    if request.choices:
        lines.append(f"  choices    {plain(', '.join(request.choices))}")
    if request.details is not None:
        text = json.dumps(request.details, indent=2, ensure_ascii=False)
        lines += ["  details", *(f"    {line}" for line in plain(text, lines=True).split("\n"))]
        lines.append(f"  sha256     {details_hash(request.details)}")
    lines += [
        f"  {record.decision} by {plain(record.who)} at {record.at}" for record in request.records
    ]
    return lines


def _commands(waiting: Waiting) -> list[str]:
    lines = ["Answer it"]
    for each in waiting.requests:
        named = f" --request {each.id}" if each.explicit or len(waiting.requests) > 1 else ""
        group = f" --group {each.approvers[0]}" if each.approvers else ""
        tail = f"{named} --by NAME{plain(group)}"
        if each.kind == "approval":
            lines.append(f"  a2a-temporal approvals approve {waiting.task_id}{tail}")
            lines.append(f"  a2a-temporal approvals reject {waiting.task_id}{tail} -m WHY")
        else:
            lines.append(f"  a2a-temporal approvals answer {waiting.task_id} TEXT{tail}")
    return lines


def _text(message: Message) -> str:
    return " ".join(" ".join(part.text for part in message.parts if part.text).split())


def _due(deadline: str) -> str:
    if not deadline:
        return "-"
    try:
        at = datetime.fromisoformat(deadline.replace("Z", "+00:00")).astimezone(timezone.utc)
    except (ValueError, OverflowError):  # of a workflow in another language
        return plain(deadline)
    seconds = (at - datetime.now(timezone.utc)).total_seconds()
    if seconds <= 0:
        return "overdue"
    for length, name in _UNITS:
        if seconds >= length:
            return f"{int(seconds // length)} {name}"
    return "1 min"
