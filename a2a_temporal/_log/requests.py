"""Requests to people: what is asked, and the records of what was decided. Pure.

The workflow publishes the open requests in the metadata of the status message, under
:data:`APPROVALS_EXTENSION`, so every reader of the log (the inbox, a client) sees the same.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from a2a_temporal._log.names import same
from a2a_temporal._log.reserved import PREFIX

APPROVALS_EXTENSION = f"{PREFIX}approvals/v1"
"""Key of open requests and decision records in message metadata."""

PROPERTY_ORDER = "x-order"
"""Key of a JSON schema's object that lists its properties in the author's order."""

RequestKind = Literal["approval", "input", "auth"]

RULE = "rule"
"""Channel of a record that no person made: a deadline, a policy, a request that was taken back."""

RECORD_NAMES = {"channel": "door"}
_OF_REQUEST = ("details", "before")


@dataclass(frozen=True)
class Record:
    """One decision as the audit keeps it: who, when, through which channel, about exactly what.

    ``details`` is what was decided on, in full, and ``details_sha256`` its hash; where an approver
    has changed them, ``before`` is what was asked. A record with the channel ``rule`` was made by
    no person: ``by`` names the rule.
    """

    request: str
    summary: str
    details_sha256: str
    decision: str
    by: str
    verified: bool
    channel: str
    at: str
    comment: str = ""
    changed_details: bool = False
    details: Any = None
    before: Any = None

    @property
    def who(self) -> str:
        """Who decided, in words."""
        if self.by:
            return self.by
        return "An operator" if self.channel in ("temporal", "cli") else "An anonymous caller"

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain JSON."""
        return {RECORD_NAMES.get(name, name): value for name, value in vars(self).items()}


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
        return same(name, self.excluded) or same(name, self.requester)

    def to_json(self) -> dict[str, Any]:
        """Return the request as plain JSON, empty fields left out.

        Its records decided on its own details, which are not repeated in each.
        """
        fields = {name: each for name, each in vars(self).items() if each or name == "details"}
        if self.records:
            fields["records"] = [
                {name: each for name, each in record.to_json().items() if name not in _OF_REQUEST}
                for record in self.records
            ]
        return fields


def details_hash(details: Any) -> str:
    """Return the SHA-256 of details as canonical JSON: sorted keys, no spaces, 5.0 written 5.

    The workflow and all readers of the log compute the same, although a protobuf ``Struct`` knows
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


def rule_record(
    request: OpenRequest, decision: str, rule: str, *, at: str, comment: str = ""
) -> Record:
    """Return the audit record of what no person has decided: a deadline, a request taken back."""
    return Record(
        request=request.id,
        summary=request.summary,
        details_sha256=details_hash(request.details),
        decision=decision,
        by=rule,
        verified=False,
        channel=RULE,
        at=at,
        comment=comment,
        details=request.details,
    )
