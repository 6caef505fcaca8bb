"""The short way between protobufs and plain JSON, several times as fast as protobuf's own.

It knows the kinds of fields that A2A's messages have, and the usual way to write each. For all
else, errors among it, it says that it does not know, and protobuf's own conversion decides.
"""

import base64
import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.json_format import ParseError
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp


class UnusualError(Exception):
    """The short way does not know how to convert this."""


# Protobuf itself reads a hundred levels, three of which are an object within an object.
_DEPTH = 24
# From here on doubles skip integers.
_INEXACT = 2**53
_EPOCH = datetime(1970, 1, 1)
_SECOND = timedelta(seconds=1)
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{3}))?Z", re.ASCII)

_MESSAGE, _ENUM, _STRING, _BYTES, _BOOL, _INT32 = (
    FieldDescriptor.TYPE_MESSAGE,
    FieldDescriptor.TYPE_ENUM,
    FieldDescriptor.TYPE_STRING,
    FieldDescriptor.TYPE_BYTES,
    FieldDescriptor.TYPE_BOOL,
    FieldDescriptor.TYPE_INT32,
)
_STRUCT, _VALUE, _LIST, _TIMESTAMP = (
    each.DESCRIPTOR.full_name for each in (Struct, Value, ListValue, Timestamp)
)
_FAILED = (
    UnusualError,
    AttributeError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)

Write = Callable[[Any], Any]
Read = Callable[[Any, Any], None]


def written(message: Message) -> Any:
    """Return the ProtoJSON form, with all keys sorted.

    Raises:
        UnusualError: It is left to protobuf's own conversion.
    """
    try:
        return _writer(cast("Descriptor", message.DESCRIPTOR))(message)
    except _FAILED as error:
        raise UnusualError from error


def read(value: Any, into: Message) -> None:
    """Parse ProtoJSON into an empty message, ignoring unknown fields.

    What was read is not nested deeper than protobuf can read.

    Raises:
        UnusualError: It is left to protobuf's own conversion; ``into`` holds a part of it.
        google.protobuf.json_format.ParseError: Bytes are no base64, which protobuf would drop.
    """
    try:
        _reader(cast("Descriptor", into.DESCRIPTOR))(value, into)
    except _FAILED as error:
        raise UnusualError from error


# ------------------------------------------------------------------ writing

_WRITERS: dict[str, Write] = {}


def _writer(descriptor: Descriptor) -> Write:
    writer = _WRITERS.get(descriptor.full_name)
    if writer is None:
        writer = _WRITERS[descriptor.full_name] = _message_writer(descriptor)
    return writer


def _message_writer(descriptor: Descriptor) -> Write:
    known: dict[int, tuple[str, Write]] | None = None

    def write(message: Message) -> dict[str, Any]:
        nonlocal known
        if known is None:
            known = {
                field.number: (field.json_name, _field_writer(field)) for field in descriptor.fields
            }
        found: list[tuple[str, Any]] = []
        for field, value in message.ListFields():
            name, convert = known[field.number]
            found.append((name, convert(value)))
        found.sort(key=_name)
        return dict(found)

    return write


def _name(item: tuple[str, Any]) -> str:
    return item[0]


def _field_writer(field: FieldDescriptor) -> Write:
    if _is_map(field):
        each = _single_writer(_message_of(field).fields_by_name["value"])
        return lambda values: {key: each(values[key]) for key in sorted(values)}
    convert = _single_writer(field)
    if not field.is_repeated:
        return convert
    if field.type == _STRING:
        return list[str]
    return lambda values: [convert(value) for value in values]


def _single_writer(field: FieldDescriptor) -> Write:
    if field.type == _MESSAGE:
        return _writer(_message_of(field))
    if field.type == _ENUM:
        return {each.number: each.name for each in _enum_of(field).values}.__getitem__
    if field.type == _BYTES:
        return lambda value: base64.b64encode(value).decode()
    return _same if field.type in (_STRING, _BOOL, _INT32) else _unusual


def _same(value: Any) -> Any:
    return value


def _unusual(_: Any) -> Any:
    raise UnusualError


def _write_struct(struct: Struct) -> dict[str, Any]:
    fields = struct.fields
    return {key: _write_value(fields[key]) for key in sorted(fields)}


def _write_list(values: ListValue) -> list[Any]:
    return [_write_value(value) for value in values.values]


def _write_value(value: Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "number_value":
        number = value.number_value
        if not math.isfinite(number):
            raise UnusualError
        return whole(number)
    if kind == "struct_value":
        return _write_struct(value.struct_value)
    if kind == "list_value":
        return _write_list(value.list_value)
    return value.bool_value if kind == "bool_value" else None


def whole(number: float) -> float:
    """Return a whole number as an integer, where each has a double of its own; -0.0 stays."""
    is_whole = number.is_integer() and abs(number) < _INEXACT
    negative_zero = number == 0 and math.copysign(1, number) < 0
    return int(number) if is_whole and not negative_zero else number


def _write_time(stamp: Timestamp) -> str:
    if stamp.nanos % 1_000_000 or stamp.nanos < 0:
        raise UnusualError
    whole = (_EPOCH + timedelta(seconds=stamp.seconds)).isoformat()
    return f"{whole}.{stamp.nanos // 1_000_000:03d}Z" if stamp.nanos else f"{whole}Z"


_WRITERS.update(
    {_STRUCT: _write_struct, _LIST: _write_list, _VALUE: _write_value, _TIMESTAMP: _write_time}
)


# ------------------------------------------------------------------ reading

_READERS: dict[str, Read] = {}


class _Known(NamedTuple):
    """A field that can be read; no message of A2A has two oneofs."""

    json_name: str
    in_oneof: bool
    takes_null: bool
    read: Callable[[Any, Any], None]

    def given(self, name: str, value: object, beside: dict[str, Any]) -> bool:
        """Say whether the field, which has two names, holds a value."""
        if name != self.json_name and self.json_name in beside:
            raise UnusualError
        if value is None and self.takes_null:
            raise UnusualError
        return value is not None


def _reader(descriptor: Descriptor) -> Read:
    reader = _READERS.get(descriptor.full_name)
    if reader is None:
        reader = _READERS[descriptor.full_name] = _message_reader(descriptor)
    return reader


def _message_reader(descriptor: Descriptor) -> Read:
    known: dict[str, _Known] | None = None

    def read(value: Any, into: Any) -> None:
        nonlocal known
        if known is None:
            known = _known(descriptor)
        oneofs = 0
        fields = _object(value)
        for name, each in fields.items():
            field = known.get(name)
            if field is None:
                _check_unknown(name)
            elif field.given(name, each, fields):
                oneofs += field.in_oneof
                field.read(each, into)
        if oneofs > 1:
            raise UnusualError

    return read


def _check_unknown(name: str) -> None:
    if name.startswith("["):  # an extension of protobuf
        raise UnusualError


def _known(descriptor: Descriptor) -> dict[str, _Known]:
    known: dict[str, _Known] = {}
    for field in descriptor.fields:
        oneof = field.containing_oneof
        # What proto3 calls optional is a oneof of one field.
        in_oneof = oneof is not None and len(oneof.fields) > 1
        takes_null = field.type == _MESSAGE and _message_of(field).full_name == _VALUE
        read = _field_reader(field)
        each = _Known(field.json_name, in_oneof, takes_null, read)
        known[field.json_name] = known[field.name] = each
    return known


def _field_reader(field: FieldDescriptor) -> Read:
    if _is_map(field):
        return _map_reader(field)
    if field.type == _MESSAGE:
        return _messages_reader(field) if field.is_repeated else _part_reader(field)
    name, scalar = field.name, _scalar(field)
    if not field.is_repeated:
        return lambda value, into: setattr(into, name, scalar(value))

    def read_all(value: Any, into: Any) -> None:
        getattr(into, name).extend([scalar(each) for each in _listed(value)])

    return read_all


def _part_reader(field: FieldDescriptor) -> Read:
    name, read_part = field.name, _reader(_message_of(field))

    def read_one(value: Any, into: Any) -> None:
        part = getattr(into, name)
        part.SetInParent()
        read_part(value, part)

    return read_one


def _messages_reader(field: FieldDescriptor) -> Read:
    name, read_part = field.name, _reader(_message_of(field))

    def read_all(value: Any, into: Any) -> None:
        add = getattr(into, name).add
        for each in _listed(value):
            read_part(each, add())

    return read_all


def _map_reader(field: FieldDescriptor) -> Read:
    name = field.name
    key, item = (_message_of(field).fields_by_name[each] for each in ("key", "value"))
    if key.type != _STRING or item.type not in (_STRING, _MESSAGE):
        return lambda value, into: _unusual(value)
    if item.type == _STRING:

        def read_texts(value: Any, into: Any) -> None:
            texts = getattr(into, name)
            for each, text in _object(value).items():
                texts[each] = _text(text)

        return read_texts
    read_part = _reader(_message_of(item))

    def read_all(value: Any, into: Any) -> None:
        parts = getattr(into, name)
        for each, part in _object(value).items():
            read_part(part, parts[each])

    return read_all


def _scalar(field: FieldDescriptor) -> Callable[[Any], Any]:
    if field.type == _ENUM:
        return {each.name: each.number for each in _enum_of(field).values}.__getitem__
    return {_STRING: _text, _BYTES: _bytes, _BOOL: _bool, _INT32: _int}.get(field.type, _unusual)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise UnusualError
    return value


_USUAL = str.maketrans("-_", "+/")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?")


def is_base64(text: str) -> bool:
    """Say whether a text is what ProtoJSON takes for bytes: both alphabets, padding or none."""
    return _BASE64.fullmatch(text) is not None


def usual_base64(text: str) -> str:
    """Return base64 in the usual alphabet, with its padding."""
    bare = text.rstrip("=").translate(_USUAL)
    return bare + "=" * (-len(bare) % 4)


def _bytes(value: Any) -> bytes:
    text = _text(value)
    if not is_base64(text):
        raise ParseError("a value that is to be bytes is no base64")
    return base64.b64decode(usual_base64(text))


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise UnusualError
    return value


def _int(value: Any) -> int:
    if type(value) is not int:
        raise UnusualError
    return value


def _listed(value: Any) -> list[Any]:
    if type(value) is not list:
        raise UnusualError
    return cast("list[Any]", value)


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise UnusualError
    return cast("dict[str, Any]", value)


def _read_value(value: object, into: Any, depth: int = 0) -> None:
    kind = type(value)
    if kind is str:
        into.string_value = value
    elif kind is float or kind is int:
        into.number_value = value
    elif kind is bool:
        into.bool_value = value
    elif value is None:
        into.null_value = 0
    elif kind is dict:
        _read_struct(value, into.struct_value, depth)
    elif kind is list:
        _read_list(value, into.list_value, depth)
    else:
        raise UnusualError


def _read_struct(value: Any, into: Any, depth: int = 0) -> None:
    if depth >= _DEPTH:
        raise UnusualError
    into.SetInParent()
    fields = into.fields
    for key, each in _object(value).items():
        _read_value(each, fields[key], depth + 1)


def _read_list(value: Any, into: Any, depth: int = 0) -> None:
    if depth >= _DEPTH:
        raise UnusualError
    into.SetInParent()
    add = into.values.add
    for each in _listed(value):
        _read_value(each, add(), depth + 1)


def _read_time(value: Any, into: Any) -> None:
    found = _TIME.fullmatch(_text(value))
    if found is None:
        raise UnusualError
    into.seconds = (datetime.fromisoformat(found[1]) - _EPOCH) // _SECOND
    into.nanos = int(found[2] or 0) * 1_000_000


_READERS.update(
    {_STRUCT: _read_struct, _LIST: _read_list, _VALUE: _read_value, _TIMESTAMP: _read_time}
)


def _message_of(field: FieldDescriptor) -> Descriptor:
    return cast("Descriptor", field.message_type)


def _enum_of(field: FieldDescriptor) -> EnumDescriptor:
    return cast("EnumDescriptor", field.enum_type)


def _is_map(field: FieldDescriptor) -> bool:
    return field.type == _MESSAGE and _message_of(field).GetOptions().map_entry
