"""An open request at a task's desk, and how it is put into words."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a.types.a2a_pb2 import Message

    from a2a_temporal._log.requests import Answer, OpenRequest, Record, answered_text

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass
class Case:
    """An open request together with what only the workflow knows of it."""

    request: OpenRequest
    adapter: "TypeAdapter[Any] | None" = None
    outcome: str = ""
    records: list[Record] = field(default_factory=list[Record])
    answer: Any = None
    message: Message | None = None
    shown_at: datetime | None = None

    def kept_text(self, answer: Answer) -> str:
        """Return what the record of an answer quotes: never what may be a credential."""
        if self.request.kind == "auth" or answer.door == "a2a":
            return ""
        return answered_text(self.answer)

    def progress(self, record: Record) -> str:
        """Return what a decision has brought about in words."""
        who = record.by or "An operator"
        verb = "approved" if record.decision == "approve" else "rejected"
        text = f"{who} {verb}: {record.summary}"
        if record.changed_details:
            text += " (with changes)"
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
