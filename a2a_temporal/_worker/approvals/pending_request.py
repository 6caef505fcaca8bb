"""A pending request of a task: an open request with what only its workflow knows."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a.types.a2a_pb2 import Message

    from a2a_temporal._log.answers import Answer, answered_text
    from a2a_temporal._log.entries import now_text
    from a2a_temporal._log.requests import OpenRequest, Record
    from a2a_temporal._worker.approvals.details import DetailsType, changes_between


@dataclass
class PendingRequest:
    """An open request together with what only the workflow knows of it.

    ``asked`` and ``original`` are its summary and details as they were before anybody changed them.
    """

    request: OpenRequest
    asked: str = ""
    original: Any = None
    type: DetailsType | None = None
    outcome: str = ""
    records: list[Record] = field(default_factory=list[Record])
    answer: Any = None
    message: Message | None = None
    shown_at: datetime | None = None

    def set_deadline(self, timeout: timedelta | None) -> None:
        """Let the request run out after some time, in the workflow's clock; never by default."""
        self.request.deadline = "" if timeout is None else now_text(workflow.now() + timeout)

    @property
    def time_left(self) -> timedelta | None:
        """The time until the deadline; None without one."""
        if not self.request.deadline:
            return None
        deadline = datetime.fromisoformat(self.request.deadline.replace("Z", "+00:00"))
        return deadline - workflow.now().astimezone(timezone.utc)

    def kept_text(self, answer: Answer) -> str:
        """Return what the record of an answer quotes: never what may be a credential."""
        beside = answer.comment if answer.answer is not None else ""
        if self.request.kind == "auth" or answer.channel == "a2a":
            return beside
        text = answered_text(self.answer)
        return f"{text} — {beside}" if beside and beside != text else text

    def progress(self, record: Record) -> str:
        """Return what a decision has brought about in words."""
        verb = "approved" if record.decision == "approve" else "rejected"
        text = f"{record.who} {verb}: {record.summary}"
        if record.changed_details:
            text += f" (with changes: {changes_between(record.before, record.details)})"
        if not self.outcome:
            text += f" ({len(self.request.records)} of {self.request.quorum})"
        return text + (f" — {record.comment}" if record.comment else "")


def question(request: OpenRequest, *, named: bool = False) -> str:
    """Return what a request asks in words, and how to answer it; see :func:`how_to_answer`."""
    if request.kind != "approval":
        return request.summary
    return f"{request.summary} {how_to_answer(request, named=named)}"


def how_to_answer(request: OpenRequest, *, named: bool = False) -> str:
    """Return how a client answers a request for approval in words.

    The request is ``named`` where others are open as well.
    """
    id_ = f" {request.id}" if request.explicit or named else ""
    return f"Reply 'approve{id_}' or 'reject{id_}'."
