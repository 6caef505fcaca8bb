"""The text of the Temporal UI for a task that asks: what, whom, until when, how to answer.

Shown under "User Metadata". It is Markdown, and not part of the history.
"""

import json
from datetime import datetime
from typing import Any, cast

from a2a_temporal._log.requests import OpenRequest

_MOST_DETAILS = 4000
_PAST = {"approve": "approved", "reject": "rejected", "comment": "commented"}


def current_details(requests: list[OpenRequest], *, task_id: str, owner: str) -> str:
    """Return the Markdown for the open requests; empty when nothing is asked.

    Args:
        requests: The open requests.
        task_id: The workflow's id, for the command that answers.
        owner: Who made the task.
    """
    return "\n\n---\n\n".join(_block(each, task_id, owner) for each in requests)


def _block(request: OpenRequest, task_id: str, owner: str) -> str:
    parts = [f"## {_line(request.summary)}", "\n".join(_facts(request, owner))]
    if request.choices:
        parts.append("Offered: " + ", ".join(_code(each) for each in request.choices))
    parts += _ways(request, task_id)
    if request.details is not None:
        parts.append(_details(request.details))
    return "\n\n".join(parts)


def _details(details: Any) -> str:
    if not isinstance(details, dict):
        return f"**About** {_code(_json(details))}"
    fields = cast("dict[str, Any]", details)
    lines = [
        f"- {_line(name)}: {_line(each) if isinstance(each, str) else _code(_json(each))}"
        for name, each in fields.items()
    ]
    return "\n".join(["**Details**", "", *lines])[:_MOST_DETAILS]


def _facts(request: OpenRequest, owner: str) -> list[str]:
    if request.approvers:
        asked = " or ".join(_line(each) for each in request.approvers)
    else:
        asked = _line(owner) or "everybody who may see the task"
    if request.quorum > 1:
        asked = f"{request.quorum} of {asked} ({len(request.records)} so far)"
    facts = [f"- **Asked of** {asked}"]
    if owner or request.requester:
        facts.append(f"- **Asked by** {_asked_by(request, owner)}")
    if request.deadline:
        facts.append(f"- **Until** {_moment(request.deadline)}")
    facts += [
        f"- {_line(record.who)} **{_PAST.get(record.decision, record.decision)}**, "
        f"{_moment(record.at)}"
        for record in request.records
    ]
    return facts


def _asked_by(request: OpenRequest, owner: str) -> str:
    if owner and request.requester:
        names = f"{_line(request.requester)} for {_line(owner)}"
        return f"{names}, neither of whom may decide it"
    name = owner or request.requester
    return _line(name) + (", who may not decide it" if request.excludes(name) else "")


def _ways(request: OpenRequest, task_id: str) -> list[str]:
    if request.verified_only:
        return ["**To answer**, use the inbox or the A2A client: a signal by hand does not count."]
    signal = "approve" if request.kind == "approval" else "answer"
    given: dict[str, Any] = {"by": "your name"}
    if request.approvers:
        given["as"] = request.approvers[0]
    given["request"] = request.id
    if request.kind == "approval":
        given["comment"] = "why"
        how = "**To approve**, send the signal `approve` (More Actions → Send a Signal) with"
        also = (
            "**To reject**, send the signal `reject` with the same. "
            'With `"details": {…}`, `approve` approves what you write there instead.'
        )
    else:
        given["answer"] = request.choices[0] if request.choices else "…"
        how = "**To answer**, send the signal `answer` (More Actions → Send a Signal) with"
        also = ""
    if request.kind == "auth":
        given["answer"] = "done"
        also = "Give the credential where it is asked for, never here: signals are kept."
    text = _json(given)
    quoted = text.replace("'", "'\\''")
    command = f"temporal workflow signal -w '{task_id}' --name {signal} --input '{quoted}'"
    return [f"{how} {_code(text)}", *([also] if also else []), f"From a terminal: {_code(command)}"]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _code(text: str) -> str:
    """Return a text as code within a line: the UI wraps that, and no block."""
    fence = "`"
    while fence in text:
        fence += "`"
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{' '.join(text.split())}{space}{fence}"


def _line(text: str) -> str:
    """Return a text as one line that cannot begin a block or a link of its own."""
    flat = " ".join(text.split())
    return flat.replace("[", "\\[").replace("<", "&lt;")


def _moment(text: str) -> str:
    at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return f"{at:%a} {at.day} {at:%b %Y, %H:%M} UTC"
