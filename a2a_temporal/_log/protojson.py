"""A2A protobufs to and from plain JSON values: the one module that converts.

Temporal encodes a protobuf only as a top-level argument, so entries carry ProtoJSON instead:
readable in the Temporal UI, tolerant of unknown fields, and usable from any language.
"""

import hashlib
from datetime import datetime, timezone
from typing import Any, TypeVar, cast

from a2a.types.a2a_pb2 import (
    Message,
    Part,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from google.protobuf import json_format
from google.protobuf.message import DecodeError, EncodeError
from google.protobuf.message import Message as ProtobufMessage
from google.protobuf.timestamp_pb2 import Timestamp

from a2a_temporal._log import conversion
from a2a_temporal._log.reserved import strip_message

StreamEvent = Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent
"""What an A2A stream may carry (A2A 1.0 section 3.1.2)."""

_ProtoT = TypeVar("_ProtoT", bound=ProtobufMessage)

_MILLISECOND = 1_000_000


def to_json(message: ProtobufMessage) -> dict[str, Any]:
    """Return the ProtoJSON form, map keys sorted (protobuf's own order differs per process)."""
    try:
        return cast("dict[str, Any]", conversion.written(message))
    except conversion.UnusualError:
        return cast("dict[str, Any]", _sorted(json_format.MessageToDict(message)))


def from_json(value: Any, into: _ProtoT) -> _ProtoT:
    """Parse ProtoJSON into ``into``, ignoring unknown fields.

    Raises:
        google.protobuf.json_format.ParseError: ``value`` is not that message.
    """
    _read(value, into)
    return into


def message_from_json(value: Any) -> Message:
    """Parse a client's message, without what only the workflow may say.

    Raises:
        google.protobuf.json_format.ParseError: It is none, or nested too deeply.
    """
    message = Message()
    if not _read(value, message):
        check_depth(message)
    strip_message(message)
    return message


def _read(value: Any, into: ProtobufMessage) -> bool:
    """Parse, and say whether it is known that the message is not nested too deeply."""
    if not into.ListFields():
        try:
            conversion.read(value, into)
        except conversion.UnusualError:
            into.Clear()
        else:
            return True
    try:
        json_format.ParseDict(value, into, ignore_unknown_fields=True)
    except SystemError as error:  # what protobuf raises for a name that is no text
        raise json_format.ParseError("a name in it is no text") from error
    return False


def event_to_json(event: StreamEvent) -> dict[str, Any]:
    """Return one stream event as StreamResponse ProtoJSON, without the ids every event repeats."""
    response = StreamResponse()
    match event:
        case TaskStatusUpdateEvent():
            response.status_update.CopyFrom(event)
            response.status_update.ClearField("task_id")
            response.status_update.ClearField("context_id")
        case TaskArtifactUpdateEvent():
            response.artifact_update.CopyFrom(event)
            response.artifact_update.ClearField("task_id")
            response.artifact_update.ClearField("context_id")
        case Message():
            response.message.CopyFrom(event)
        case Task():
            response.task.CopyFrom(event)
        case _:
            raise TypeError(f"No event of an A2A stream: {event!r}")
    return to_json(response)


def event_from_json(value: Any) -> StreamEvent:
    """Parse what :func:`event_to_json` wrote.

    Raises:
        google.protobuf.json_format.ParseError: ``value`` is no StreamResponse, an empty one, or
            nested too deeply.
    """
    response = StreamResponse()
    if not _read(value, response):
        check_depth(response)
    kind = response.WhichOneof("payload")
    if kind is None:
        raise json_format.ParseError(f"no event of a known kind in {value!r}")
    return cast("StreamEvent", getattr(response, kind))


def check_depth(message: StreamResponse | StreamEvent | Part) -> None:
    """Check that a message is not nested deeper than protobuf itself can read.

    JSON allows more. Such a message can be copied into a Task in some ways and not in others.

    Raises:
        google.protobuf.json_format.ParseError: It is.
    """
    envelope = StreamResponse()
    match message:
        case StreamResponse():
            envelope = message
        case TaskArtifactUpdateEvent():
            envelope.artifact_update.CopyFrom(message)
        case TaskStatusUpdateEvent():
            envelope.status_update.CopyFrom(message)
        case Task():
            envelope.task.CopyFrom(message)
        case Message():
            envelope.task.status.message.CopyFrom(message)
        case Part():
            envelope.task.status.message.parts.add().CopyFrom(message)
    try:
        StreamResponse.FromString(envelope.SerializeToString())
    except (DecodeError, EncodeError) as error:
        raise json_format.ParseError("nested too deeply") from error


def digest(message: Message) -> str:
    """Return a short hash of what a client said, without the ids the server fills in."""
    bare = Message()
    bare.CopyFrom(message)
    bare.ClearField("task_id")
    bare.ClearField("context_id")
    strip_message(bare)
    return hashlib.sha256(bare.SerializeToString(deterministic=True)).hexdigest()[:32]


def timestamp(at: datetime) -> Timestamp:
    """Return ``at`` as a Timestamp in UTC, cut to milliseconds (A2A 1.0 section 5.6.1)."""
    stamp = Timestamp()
    stamp.FromDatetime(at.astimezone(timezone.utc))
    stamp.nanos -= stamp.nanos % _MILLISECOND
    return stamp


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        return {key: _sorted(items[key]) for key in sorted(items)}
    if isinstance(value, list):
        return [_sorted(item) for item in cast("list[Any]", value)]
    return conversion.whole(value) if isinstance(value, float) else value
