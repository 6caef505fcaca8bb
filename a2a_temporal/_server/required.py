"""Whether a request has the fields that the protocol requires, seen without looking at the others.

The SDK's check asks every field of every message for its options, which takes longer than all that
is done with a large request.
"""

from typing import Any, NamedTuple, cast

from a2a.utils.proto_utils import validate_proto_required_fields
from google.api.field_behavior_pb2 import FieldBehavior, field_behavior
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message


class _Field(NamedTuple):
    """A field that is required, or within which others are."""

    name: str
    required: bool
    has_presence: bool
    repeated: bool
    inner: "list[_Field]"


_PLANS: dict[str, list[_Field]] = {}


def check_required(request: Message) -> None:
    """Check a request.

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
