"""An open request at a task's desk, and how it is put into words."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a.types.a2a_pb2 import Message

    from a2a_temporal._log.requests import Answer, OpenRequest, Record, answered_text
    from a2a_temporal._worker.details import DetailsType, changes_between


@dataclass
class Case:
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

    def kept_text(self, answer: Answer) -> str:
        """Return what the record of an answer quotes: never what may be a credential."""
        beside = answer.comment if answer.answer is not None else ""
        if self.request.kind == "auth" or answer.door == "a2a":
            return beside
        told = answered_text(self.answer)
        return f"{told} — {beside}" if beside and beside != told else told

    def progress(self, record: Record) -> str:
        """Return what a decision has brought about in words."""
        verb = "approved" if record.decision == "approve" else "rejected"
        text = f"{record.who} {verb}: {record.summary}"
        if record.changed_details:
            text += f" (with changes: {changes_between(record.before, record.details)})"
        if not self.outcome:
            text += f" ({len(self.request.records)} of {self.request.quorum})"
        return text + (f" — {record.comment}" if record.comment else "")


def question(request: OpenRequest) -> str:
    """Return what a request asks in words, and how to answer it."""
    if request.kind != "approval":
        return request.summary
    return f"{request.summary} {how_to_answer(request)}"


def how_to_answer(request: OpenRequest) -> str:
    """Return how a client answers a request for approval in words."""
    named = f" {request.id}" if request.explicit else ""
    return f"Reply 'approve{named}' or 'reject{named}'."
