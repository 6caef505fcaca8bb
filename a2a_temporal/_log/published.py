"""Read what a status of the workflow says about requests: from JSON of any shape to typed values.

Only what the workflow itself emitted is looked at: reserved metadata of all others is taken out
where their entries are read. What has not the shape of docs/task-log.md is skipped by everybody
alike, and named where people look for it.
"""

from dataclasses import dataclass, field
from typing import Any, TypeVar, cast, get_args

from a2a.types.a2a_pb2 import Message, Role

from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.requests import (
    APPROVALS_EXTENSION,
    OpenRequest,
    Record,
    RequestKind,
    canonical,
)
from a2a_temporal._log.state import LogState

_T = TypeVar("_T")


@dataclass(frozen=True)
class Published:
    """What one status message says; ``problems`` names what of it cannot be read."""

    requests: list[OpenRequest] = field(default_factory=list[OpenRequest])
    record: Record | None = None
    token: str = ""
    refused: str = ""
    problems: list[str] = field(default_factory=list[str])


class _MalformedError(ValueError):
    pass


def is_published(message: Message) -> bool:
    """Say whether a message of the log is one by which a workflow asks or reports."""
    return APPROVALS_EXTENSION in message.metadata


def published(message: Message) -> Published:
    """Return what a status message says of requests."""
    if not is_published(message):
        return Published()
    about: Any = canonical(to_json(message.metadata)[APPROVALS_EXTENSION])
    if not isinstance(about, dict):
        return Published(problems=["What it says of requests is no object."])
    fields = cast("dict[str, Any]", about)
    problems: list[str] = []
    requests: list[OpenRequest] = []
    listed: Any = fields.get("requests", [])
    if not isinstance(listed, list):
        problems.append("Its requests are no list.")
        listed = []
    for each in cast("list[Any]", listed):
        try:
            requests.append(_request(each))
        except _MalformedError as error:
            problems.append(f"A request cannot be read: {error}.")
    record = None
    if "record" in fields:
        try:
            record = _record(fields["record"])
        except _MalformedError as error:
            problems.append(f"A record cannot be read: {error}.")
    token, refused = fields.get("token", ""), fields.get("refused", "")
    return Published(
        requests,
        record,
        token if isinstance(token, str) else "",
        refused if isinstance(refused, str) else "",
        problems,
    )


def open_requests(message: Message) -> list[OpenRequest]:
    """Return the open requests a status message publishes; a malformed one counts as none."""
    return published(message).requests


def record_in(message: Message) -> Record | None:
    """Return the audit record a status message publishes, if there is one."""
    return published(message).record


def handled_token(message: Message) -> tuple[str, str]:
    """Return the token of the answer a status message reports on, and why it was refused, if so."""
    found = published(message)
    return found.token, found.refused


def is_the_agents(state: LogState, message: Message) -> bool:
    """Say whether a message of a task is the agent's: only those report decisions.

    What a client sent is not, whatever role and metadata it wrote into it.
    """
    return message.role != Role.ROLE_USER and message.message_id not in state.accepted


def agent_messages(state: LogState) -> list[Message]:
    """Return what the agent's side has said so far, in order."""
    said = [*state.task.history, state.task.status.message]
    return [message for message in said if is_the_agents(state, message)]


def requests_in(state: LogState) -> list[OpenRequest]:
    """Return the requests that are open in a task.

    A client's message that the workflow has yet to read moves the status message to the history:
    what that asked is open still.
    """
    if state.task.status.HasField("message"):
        return open_requests(state.task.status.message)
    said = [message for message in state.task.history if is_the_agents(state, message)]
    return open_requests(said[-1]) if said and (state.interrupted or state.answers) else []


def _request(value: Any) -> OpenRequest:
    fields = _object(value)
    schema = fields.get("schema")
    quorum = _of(int, fields, "quorum", 1)
    if quorum < 1 or not (schema is None or isinstance(schema, dict)):
        raise _MalformedError(f"quorum or schema: {quorum!r}, {schema!r:.80}")
    kind = _needed(fields, "kind")
    if kind not in get_args(RequestKind):
        raise _MalformedError(f"kind: {kind!r:.80}")
    records = fields.get("records", [])
    if not isinstance(records, list):
        raise _MalformedError(f"records: {records!r:.80}")
    return OpenRequest(
        id=_needed(fields, "id"),
        kind=cast("RequestKind", kind),
        summary=_of(str, fields, "summary", ""),
        asked_at=_of(str, fields, "asked_at", ""),
        details=fields.get("details"),
        schema=cast("dict[str, Any] | None", schema),
        approvers=_texts(fields, "approvers"),
        quorum=quorum,
        excluded=_of(str, fields, "excluded", ""),
        verified_only=_of(bool, fields, "verified_only", default=False),
        named=_of(bool, fields, "named", default=False),
        explicit=_of(bool, fields, "explicit", default=False),
        requester=_of(str, fields, "requester", ""),
        deadline=_of(str, fields, "deadline", ""),
        choices=_texts(fields, "choices"),
        records=[_record(each) for each in cast("list[Any]", records)],
    )


def _record(value: Any) -> Record:
    fields = _object(value)
    return Record(
        request=_needed(fields, "request"),
        summary=_of(str, fields, "summary", ""),
        details_sha256=_of(str, fields, "details_sha256", ""),
        decision=_needed(fields, "decision"),
        by=_of(str, fields, "by", ""),
        verified=_of(bool, fields, "verified", default=False),
        door=_of(str, fields, "door", ""),
        at=_of(str, fields, "at", ""),
        comment=_of(str, fields, "comment", ""),
        changed_details=_of(bool, fields, "changed_details", default=False),
        details=fields.get("details"),
        before=fields.get("before"),
    )


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _MalformedError(f"{value!r:.80} is no object")
    return cast("dict[str, Any]", value)


def _of(kind: type[_T], fields: dict[str, Any], name: str, default: _T) -> _T:
    value = fields.get(name, default)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _MalformedError(f"{name}: {value!r:.80}")
    return value


def _needed(fields: dict[str, Any], name: str) -> str:
    value = _of(str, fields, name, "")
    if not value:
        raise _MalformedError(f"{name} is missing")
    return value


def _texts(fields: dict[str, Any], name: str) -> list[str]:
    value = fields.get(name, [])
    if not isinstance(value, list) or not all(
        isinstance(each, str) for each in cast("list[Any]", value)
    ):
        raise _MalformedError(f"{name}: {value!r:.80}")
    return cast("list[str]", value)
