"""The checks of requests and messages before anything is stored (A2A 1.0 sections 3.1.1, 3.3)."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import AgentCard, Message, Part, Role, SendMessageRequest
from a2a.utils.errors import (
    ExtensionSupportRequiredError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
)
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.task import validate_history_length
from google.api.field_behavior_pb2 import FieldBehavior, field_behavior
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseError, SerializeToJsonError
from google.protobuf.message import Message as ProtobufMessage
from google.protobuf.struct_pb2 import Struct, Value

from a2a_temporal._log.answers import ContradictionError, RefusedError, speaker_of
from a2a_temporal._log.hitl import answers_of
from a2a_temporal._log.protojson import check_depth, digest, from_json, to_json
from a2a_temporal._log.published import requests_in
from a2a_temporal._log.requests import APPROVALS_EXTENSION
from a2a_temporal._log.state import Accepted, LogState
from a2a_temporal._server.caller import Caller

_LEAST_BYTES = 2  # of a value, however it is encoded
_LONGEST = {"message_id": 512, "task_id": 512, "context_id": 4096}
_TASK_ID = re.compile(r"[A-Za-z0-9._~-]{1,200}")


def check_message(request: SendMessageRequest, context: ServerCallContext, card: AgentCard) -> None:
    """Check all that needs no knowledge of tasks.

    Raises:
        InvalidParamsError: A field has a value the protocol does not allow.
        ExtensionSupportRequiredError: The card requires an extension the client did not declare.
        PushNotificationNotSupportedError: A push config came along and the card declares no push.
    """
    validate_history_length(request.configuration)
    check_content(request.message)
    _check_numbers(request.metadata)
    _check_extensions(context, card)
    if (
        request.configuration.HasField("task_push_notification_config")
        and not card.capabilities.push_notifications
    ):
        raise PushNotificationNotSupportedError


def check_content(message: Message) -> None:
    """Check the content of a message, also of one that did not come as a request.

    Raises:
        InvalidParamsError: A field has a value the protocol does not allow.
    """
    _check_fields(message)
    _check_numbers(*_values_of(message))


def check_texts(**values: object) -> None:
    """Check arguments of a Python call that must be texts.

    Raises:
        TypeError: One is no text.
        InvalidParamsError: One cannot be written as UTF-8.
    """
    for name, value in values.items():
        if not isinstance(value, str):
            raise TypeError(f"{name}={value!r} is no text. Pass a str; the empty one for none.")
        if value.encode(errors="replace").decode() != value:
            raise InvalidParamsError(f"{name} {value[:50]!r} is no Unicode text.")


def first_message(message: object) -> Message:
    """Return a copy of a message, or one that holds a text.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(message, str):
        check_texts(message=message)
        return Message(parts=[Part(text=message)])
    if not isinstance(message, Message):
        raise TypeError(f"message={message!r} is neither a text nor an a2a.types.Message.")
    copied = Message()
    copied.CopyFrom(message)
    return copied


def check_task_id(task_id: str, prefix: str = "") -> None:
    """Check the id that a client has chosen for a new task.

    Raises:
        InvalidParamsError: It cannot stand in a URL path as it is, or does not begin as it has to.
    """
    if not _TASK_ID.fullmatch(task_id):
        raise InvalidParamsError(
            f"message.taskId {task_id[:50]!r} cannot name a new task. Use 1 to 200 of the "
            "characters A-Z a-z 0-9 . _ ~ -"
        )
    if not task_id.startswith(prefix):
        raise InvalidParamsError(
            f"message.taskId {task_id[:50]!r} cannot name a new task. Begin it with {prefix!r}."
        )


def check_values(request: SendMessageRequest, most: int) -> None:
    """Check how many values a message holds, where no JSON was counted before.

    Raises:
        InvalidParamsError: They are more than ``most``.
    """
    if request.ByteSize() // _LEAST_BYTES <= most:
        return
    message = request.message
    count = (
        len(message.parts)
        + len(message.extensions)
        + len(message.reference_task_ids)
        + len(request.configuration.accepted_output_modes)
    )
    if count > most:
        raise too_many_values(most)
    check_count(count, [request.metadata, *_values_of(message)], most)


def check_count(count: int, structs: Sequence[Struct | Value], most: int) -> None:
    """Check how many values there are, some of them counted before.

    Raises:
        InvalidParamsError: They are more than ``most``.
    """
    waiting = list(structs)
    while waiting and count <= most:
        inner = _values_in(waiting.pop())
        count += len(inner)
        if count <= most:  # before an object of Python is made for each
            waiting += inner.values() if isinstance(inner, Mapping) else inner
    if count > most:
        raise too_many_values(most)


def _values_of(message: Message) -> list[Struct | Value]:
    """Return the parts of a message that hold any JSON."""
    values: list[Struct | Value] = [message.metadata]
    for part in message.parts:
        if part.HasField("metadata"):
            values.append(part.metadata)
        if part.HasField("data"):
            values.append(part.data)
    return values


def _values_in(value: Struct | Value) -> Sequence[Value] | Mapping[str, Value]:
    if isinstance(value, Struct):
        return value.fields
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return value.struct_value.fields
    return value.list_value.values if kind == "list_value" else ()


def too_many_values(most: int) -> InvalidParamsError:
    """Return the error for a request that holds too many values."""
    return InvalidParamsError(
        f"The request holds more than {most} values (parts, list items, members of objects); this "
        f"server takes at most {most} (HandlerOptions.maximum_message_values). Send large content "
        "as a file reference (part.url), or as bytes (part.raw)."
    )


def check_size(stored: dict[str, Any], limit: int) -> None:
    """Check the size a message has in Temporal.

    Raises:
        InvalidParamsError: It is larger than ``limit`` bytes of JSON.
    """
    size = len(json.dumps(stored))
    if size > limit:
        raise InvalidParamsError(
            f"The message takes {size} bytes as JSON; this server stores at most {limit}. "
            "Send large content as a file reference (part.url)."
        )


def check_context(state: LogState, message: Message) -> None:
    """Check that a message names the context of the task it belongs to, or none (section 3.4.1).

    Raises:
        InvalidParamsError: It names another one.
    """
    known, named = state.task.context_id, message.context_id
    if named and named != known:
        raise InvalidParamsError(
            f"Task {state.task.id} belongs to context {known!r}, the message names {named!r}. Name "
            "the task's own, or none; to begin a task, give the message its own messageId."
        )


def check_answers(state: LogState, message: Message, request: dict[str, Any]) -> None:
    """Check that a message to a task with open requests is read as a whole, or not sent at all.

    All other reasons against an answer are the workflow's to give: it may have moved on.

    Raises:
        InvalidParamsError: The message says two things, or more than is read.
    """
    if message.message_id in state.reports:
        raise InvalidParamsError(
            f"messageId {message.message_id!r} is that of a message of the agent. Give every "
            "message its own id."
        )
    requests = requests_in(state)
    if not requests:
        return
    if APPROVALS_EXTENSION in message.metadata:
        raise InvalidParamsError(
            f"Answers are not read from the metadata {APPROVALS_EXTENSION}. Send a data part."
        )
    try:
        answers_of(message, requests, speaker_of(request))
    except ContradictionError as error:
        raise InvalidParamsError(str(error)) from error
    except RefusedError:
        return


def check_same(known: Accepted | None, message: Message) -> None:
    """Check that a message is the one that was accepted under its id.

    Raises:
        InvalidParamsError: It is another one.
    """
    # As it stands in the log: on its way there it loses what JSON cannot express.
    sent = digest(from_json(to_json(message), Message()))
    # A workflow in another language carries no digests across its runs.
    if known is None or known.digest not in ("", sent):
        raise InvalidParamsError(
            f"messageId {message.message_id!r} was used before with another content. Give every "
            "message its own id; repeat an id only to send the same message again."
        )


def as_first_message(state: LogState, message: Message, caller: Caller) -> Message:
    """Return a message under the id of its task's first one, if it says the same.

    Where a client has chosen the id of the task, the content tells a first message that is sent
    again from a further one. Any other message is returned as it is.
    """
    first = next((name for name, known in state.accepted.items() if known.turn == 1), "")
    chosen = state.task.id != caller.task_id(first)
    if not first or not chosen or message.message_id in state.accepted:
        return message
    again = Message()
    again.CopyFrom(message)
    again.message_id = first
    sent = digest(from_json(to_json(again), Message()))
    return again if sent == state.accepted[first].digest else message


def _check_fields(message: Message) -> None:
    if message.role != Role.ROLE_USER:
        raise InvalidParamsError(
            f"message.role is {Role.Name(message.role)!r}; a client sends 'ROLE_USER'."
        )
    for index, part in enumerate(message.parts):
        if part.WhichOneof("content") is None:
            raise InvalidParamsError(
                f"message.parts[{index}] is empty; set one of text, raw, url or data."
            )
    try:
        check_depth(message)
    except ParseError as error:
        raise InvalidParamsError(
            "The message is nested too deeply: data may hold about 30 objects inside each other."
        ) from error
    for name, limit in _LONGEST.items():
        value: str = getattr(message, name)
        if len(value) > limit:
            raise InvalidParamsError(
                f"message.{name} has {len(value)} characters; {limit} are allowed."
            )


def _check_numbers(*values: Struct | Value) -> None:
    try:
        for value in values:
            to_json(value)
    except (SerializeToJsonError, ValueError) as error:
        raise InvalidParamsError(
            "The message holds NaN or Infinity, which JSON does not know. Send null or a text."
        ) from error


def _check_extensions(context: ServerCallContext, card: AgentCard) -> None:
    required = {each.uri for each in card.capabilities.extensions if each.required}
    missing = sorted(required - context.requested_extensions)
    if missing:
        raise ExtensionSupportRequiredError(
            f"This agent requires the extension {missing[0]!r}. Declare it in the A2A-Extensions "
            "header."
        )


# ------------------------------------------------------------ required fields

# The SDK's check asks every field of every message for its options, which takes longer than all
# that is done with a large request.


class _Field(NamedTuple):
    """A field that is required, or within which others are."""

    name: str
    required: bool
    has_presence: bool
    repeated: bool
    inner: "list[_Field]"


_PLANS: dict[str, list[_Field]] = {}


def check_required(request: ProtobufMessage) -> None:
    """Check that a request has the fields which the protocol requires.

    Raises:
        InvalidParamsError: A required field is missing; the SDK says which.
    """
    if not _is_complete(request, _plan(cast("Descriptor", request.DESCRIPTOR))):
        validate_proto_required_fields(request)


def _is_complete(message: Any, plan: list[_Field]) -> bool:
    for field in plan:
        present = message.HasField(field.name) if field.has_presence else None
        if present is None or (present and field.inner):
            value = getattr(message, field.name)
            present = bool(value) if present is None else True
            inner = value if field.repeated else [value]
            if present and field.inner and not all(_is_complete(e, field.inner) for e in inner):
                return False
        if field.required and not present:
            return False
    return True


def _plan(descriptor: Descriptor) -> list[_Field]:
    plan = _PLANS.get(descriptor.full_name)
    if plan is None:
        # There before it is complete, as some messages hold others of their own kind.
        plan = _PLANS[descriptor.full_name] = []
        plan += [each for field in descriptor.fields if (each := _field(field)) is not None]
    return plan


def _field(field: FieldDescriptor) -> _Field | None:
    options: Any = field.GetOptions()
    required = FieldBehavior.REQUIRED in options.Extensions[field_behavior]
    inner: list[_Field] = []
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        inner_type = cast("Descriptor", field.message_type)
        # No map of a request holds messages of which something is required.
        inner = [] if inner_type.GetOptions().map_entry else _plan(inner_type)
    if not required and not inner:
        return None
    return _Field(field.name, required, field.has_presence, field.is_repeated, inner)
