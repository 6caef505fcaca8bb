"""The entries of a task log and how each is read from plain JSON.

A malformed entry parses to ``None`` and is skipped, in the workflow and in every reader alike, so
that a stray signal sent by hand can neither break a task nor make two readers disagree.
"""

import math
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from typing import Any, Literal, TypeGuard, cast

from a2a.types.a2a_pb2 import Message, TaskPushNotificationConfig
from google.protobuf.json_format import ParseError
from google.protobuf.timestamp_pb2 import Timestamp

from a2a_temporal._log import conversion, wire
from a2a_temporal._log.protojson import (
    StreamEvent,
    event_from_json,
    from_json,
    message_from_json,
)
from a2a_temporal._log.reserved import strip_event


@dataclass(frozen=True)
class TaskStart:
    """The input of a task's workflow: who asked for what. JSON in the workflow's first event.

    ``message`` is an A2A Message. After continue-as-new ``snapshot`` is what the previous run knew
    and ``carried`` what the workflow's author handed on. The start of a ``plain`` workflow, which
    knows nothing of A2A, lies in its memo ``a2a_start`` instead. ``request`` describes the call
    that brought the message: user, scopes, extensions, configuration, metadata; never credentials.
    ``push_config`` is the TaskPushNotificationConfig that came with the message.
    """

    task_id: str
    context_id: str
    agent: str
    message: dict[str, Any]
    owner: str = ""
    tenant: str = ""
    request: dict[str, Any] = field(default_factory=dict[str, Any])
    at: str = ""
    snapshot: dict[str, Any] | None = None
    carried: Any = None
    push_config: dict[str, Any] | None = None
    search_attributes: bool = True
    plain: bool = False
    version: int = wire.LOG_VERSION

    @cached_property
    def first_message(self) -> Message:
        """The message, parsed once; not to be changed.

        Raises:
            google.protobuf.json_format.ParseError: It is none, or nested too deeply.
        """
        return message_from_json(self.message)


@dataclass(frozen=True)
class MessageEntry:
    """A further client message (signal ``a2a_message``), and the push config that came with it.

    With ``if_generation_match`` it counts only while the task is at that generation.
    """

    message: Message
    request: dict[str, Any]
    at: Timestamp
    push_config: TaskPushNotificationConfig | None = None
    if_generation_match: int | None = None


@dataclass(frozen=True)
class PushConfigEntry:
    """A push notification config is set, or deleted where ``config`` is None.

    Signal ``a2a_push_config``. A config is not added to ``most`` others, if that is given: of
    several clients that add one at the same time, the log decides who came too late.
    """

    config_id: str
    config: TaskPushNotificationConfig | None
    at: Timestamp
    most: int | None = None


@dataclass(frozen=True)
class EventsEntry:
    """A batch of an agent's events (signal ``a2a_events``).

    ``done`` says that the agent's code has returned: nothing of this turn follows; ``left`` that
    its activity will not complete, so that nobody need wait for it. A ``source``
    names the activity of a workflow author that published; it has attempts of its own and no turn.
    """

    turn: int
    attempt: int
    sequence: int
    events: list[StreamEvent]
    at: Timestamp
    done: bool = False
    left: bool = False
    source: str = ""


@dataclass(frozen=True)
class EmissionEntry:
    """Events emitted by workflow code (memo key ``a2a``)."""

    events: list[StreamEvent]
    at: Timestamp


CloseKind = Literal["completed", "failed", "canceled", "terminated", "timed_out"]


@dataclass(frozen=True)
class CloseEntry:
    """How the engine closed the workflow; counts only when no terminal entry came before.

    ``reason`` is the engine's own, where nobody else has terminated it.
    """

    kind: CloseKind
    at: Timestamp
    result: Any = None
    reason: str = ""


@dataclass(frozen=True)
class ResetEntry:
    """An operator has reset the workflow: what another run made after this point is void.

    Only readers see it. It changes nothing but the numbers that later events get.
    """

    at: Timestamp


Entry = MessageEntry | EventsEntry | PushConfigEntry | EmissionEntry | CloseEntry | ResetEntry

MALFORMED = (
    ParseError,
    AttributeError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What parsing JSON of any shape may raise."""

_START_TYPES: dict[str, type | tuple[type, ...]] = {
    "task_id": str,
    "context_id": str,
    "agent": str,
    "message": dict,
    "owner": str,
    "tenant": str,
    "request": dict,
    "at": str,
    "snapshot": (dict, type(None)),
    "push_config": (dict, type(None)),
    "search_attributes": bool,
    "plain": bool,
    "version": int,
}


def parse_start(value: Any) -> TaskStart | None:
    """Read the input of a workflow; ``None`` when that workflow is no A2A task."""
    if not _is_object(value) or not _is_finite(value):
        return None
    known = {name: value[name] for name in TaskStart.__dataclass_fields__ if name in value}
    if not all(isinstance(known[name], _START_TYPES.get(name, object)) for name in known):
        return None
    try:
        start = TaskStart(**known)
        _ = start.first_message
        parse_time(start.at)
        if start.push_config:
            parse_push_config(start.push_config)
    except MALFORMED:
        return None
    return start if start.task_id and start.context_id and start.agent else None


def parse_signal(name: str, value: Any) -> Entry | None:
    """Read the argument of a signal; ``None`` when it is no entry of the log."""
    if not _is_object(value) or not _is_finite(value):
        return None
    try:
        if name == wire.MESSAGE_SIGNAL:
            return _message_entry(value)
        if name == wire.PUSH_CONFIG_SIGNAL:
            return _push_config_entry(value)
        if name == wire.EVENTS_SIGNAL:
            return EventsEntry(
                turn=int(value["turn"]),
                attempt=int(value["attempt"]),
                sequence=int(value["sequence"]),
                events=[_of_others(event) for event in value["events"]],
                at=_at(value),
                done=bool(value.get("done", False)),
                left=bool(value.get("left", False)),
                source=str(value.get("source", "")),
            )
    except MALFORMED:
        return None
    return None


def parse_push_config(value: Any) -> TaskPushNotificationConfig:
    """Read a push notification config of the wire.

    Raises:
        google.protobuf.json_format.ParseError: ``value`` is no such config.
        ValueError: It has no id or no URL.
    """
    config = from_json(value, TaskPushNotificationConfig())
    if not config.id or not config.url:
        raise ValueError("a push notification config needs an id and a url")
    return config


def parse_emission(value: Any) -> EmissionEntry | None:
    """Read the memo entry that workflow code wrote; ``None`` when it is none."""
    if not _is_object(value) or not _is_finite(value):
        return None
    try:
        return EmissionEntry([event_from_json(event) for event in value["events"]], _at(value))
    except MALFORMED:
        return None


def _of_others(value: Any) -> StreamEvent:
    """Read an event that an agent or an activity has published, without what only we may say."""
    event = event_from_json(value)
    strip_event(event)
    return event


def _message_entry(value: dict[str, Any]) -> MessageEntry | None:
    message = message_from_json(value["message"])
    request = value.get("request")
    if not message.message_id:
        return None
    attached, generation = value.get("push_config"), value.get("if_generation_match")
    return MessageEntry(
        message,
        request if _is_object(request) else {},
        _at(value),
        parse_push_config(attached) if attached else None,
        None if generation is None else int(generation),
    )


def _push_config_entry(value: dict[str, Any]) -> PushConfigEntry:
    if "set" in value:
        config = parse_push_config(value["set"])
        most = value.get("most")
        return PushConfigEntry(config.id, config, _at(value), None if most is None else int(most))
    return PushConfigEntry(str(value["delete"]), None, _at(value))


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_finite(value: Any) -> bool:
    """Say whether ``value`` is JSON that a Task can be written in again: without inf and nan."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, float):
            if not math.isfinite(each):
                return False
        elif isinstance(each, dict):
            waiting += cast("dict[str, Any]", each).values()
        elif isinstance(each, list):
            waiting += cast("list[Any]", each)
    return True


def now_text(at: datetime) -> str:
    """Return ``at`` as the wire writes times: RFC 3339, UTC, milliseconds."""
    text = at.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def entry_time(at: datetime) -> str:
    """Return ``at`` as an entry says when it was written: never a whole second.

    A status gets this time, and ProtoJSON writes a whole second without the milliseconds that A2A
    1.0 wants (section 5.6.1) and that clients who compare texts need. So it is a millisecond late.
    """
    whole = at.microsecond < 1000
    return now_text(at.replace(microsecond=1000) if whole else at)


def parse_time(text: str) -> Timestamp:
    """Read a time of the wire.

    Raises:
        ValueError: ``text`` is no RFC 3339 time.
    """
    stamp = Timestamp()
    try:
        conversion.read(text, stamp)
    except conversion.UnusualError:
        stamp.FromJsonString(text)
    return stamp


def _at(fields: dict[str, Any]) -> Timestamp:
    return parse_time(fields["at"]) if fields.get("at") else Timestamp()
