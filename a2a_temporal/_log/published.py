"""Read what a status of the workflow says about requests: from JSON of any shape to typed values.

Only what the workflow itself emitted is looked at: reserved metadata of all others is taken out
where their entries are read. What has not the shape of docs/task-log.md is skipped by everybody
alike, and named where people look for it.
"""

from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from a2a.types.a2a_pb2 import Message, Role

from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.requests import (
    APPROVALS_EXTENSION,
    RECORD_NAMES,
    OpenRequest,
    Record,
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
    about = cast("dict[str, Any]", about)
    problems: list[str] = []
    requests: list[OpenRequest] = []
    listed: Any = about.get("requests", [])
    if not isinstance(listed, list):
        problems.append("Its requests are no list.")
        listed = []
    for each in cast("list[Any]", listed):
        try:
            requests.append(_request(each))
        except _MalformedError as error:
            problems.append(f"A request cannot be read: {error}.")
    record = None
    if "record" in about:
        try:
            record = _typed(Record, about["record"], "record")
        except _MalformedError as error:
            problems.append(f"A record cannot be read: {error}.")
    token, refused = about.get("token", ""), about.get("refused", "")
    return Published(
        requests,
        record,
        token if isinstance(token, str) else "",
        refused if isinstance(refused, str) else "",
        problems,
    )


def is_the_agents(state: LogState, message: Message) -> bool:
    """Say whether a message of a task is the agent's: only those report decisions.

    What a client sent is not, whatever role and metadata it wrote into it.
    """
    return message.role != Role.ROLE_USER and message.message_id not in state.accepted


def agent_messages(state: LogState) -> list[Message]:
    """Return the messages of the agent's side so far, in order."""
    messages = [*state.task.history, state.task.status.message]
    return [message for message in messages if is_the_agents(state, message)]


def requests_in(state: LogState) -> list[OpenRequest]:
    """Return the requests that are open in a task.

    A client's message that the workflow has yet to read moves the status message to the history:
    what that asked is open still.
    """
    if state.task.status.HasField("message"):
        return published(state.task.status.message).requests
    said = [message for message in state.task.history if is_the_agents(state, message)]
    return published(said[-1]).requests if said and (state.interrupted or state.answers) else []


def _request(value: Any) -> OpenRequest:
    request = _read(OpenRequest, value, needed=("id", "kind"))
    if request.quorum < 1:
        raise _MalformedError(f"quorum: {request.quorum!r}")
    return request


def _read(kind: type[_T], value: Any, *, needed: tuple[str, ...]) -> _T:
    """Read an object of JSON into a dataclass; fields that are absent are empty.

    Raises:
        _MalformedError: A field is of another type, or one that is needed is absent or empty.
    """
    if not isinstance(value, dict):
        raise _MalformedError(f"{value!r:.80} is no object")
    given = cast("dict[str, Any]", value)
    types, read = _types(kind), dict[str, Any]()
    for name in needed:
        if not given.get(name):
            raise _MalformedError(f"{name} is missing")
    for each in fields(kind):  # pyright: ignore[reportArgumentType] # a dataclass, as its callers show
        key = RECORD_NAMES.get(each.name, each.name)
        if key in given:
            read[each.name] = _typed(types[each.name], given[key], key)
        elif each.default is MISSING and each.default_factory is MISSING:
            read[each.name] = types[each.name]()
    return kind(**read)


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _typed(kind: Any, value: Any, name: str) -> Any:
    if type(None) in get_args(kind):
        return None if value is None else _typed(get_args(kind)[0], value, name)
    if get_origin(kind) is list and isinstance(value, list):
        (item,) = get_args(kind)
        return [_typed(item, each, name) for each in cast("list[Any]", value)]
    if kind is Record:
        return _read(Record, value, needed=("request", "decision"))
    plain = {str: str, bool: bool, int: int, list: list, dict: dict}.get(get_origin(kind) or kind)
    allowed = get_args(kind) if get_origin(kind) is Literal else None
    wrong = plain is not None and type(value) is not plain
    if wrong or (allowed is not None and value not in allowed):
        raise _MalformedError(f"{name}: {value!r:.80}")
    return value
