"""Recognises code that was written for a2a-sdk 0.3, by the names that version 1 no longer has."""

import re
from importlib.metadata import version
from types import ModuleType

from a2a.types import a2a_pb2
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

_SDK, _PROTOBUF = "a2a", "a2a_pb2"  # the second is how protobuf names the module of its classes
_ADVICE = "code written for a2a-sdk 0.3 finds its new names in docs/migrating.md of a2a-temporal"
_NO_FIELD = re.compile(r'Protocol message (\w+) has no "(\w+)" field')


def missing_sdk_name(error: BaseException) -> str:
    """Return a sentence on the name of a2a-sdk that an exception is about; empty if it is not."""
    missing = _missing_name(error)
    if not missing:
        return ""
    return f"a2a-sdk {version('a2a-sdk')} has no {missing}: {_ADVICE}"


def _missing_name(error: BaseException) -> str:
    if isinstance(error, ImportError):
        return _missing_import(error)
    if isinstance(error, AttributeError) and _is_of_the_sdk(error.obj):
        return repr(error.name)
    field = _NO_FIELD.search(str(error)) if isinstance(error, AttributeError | ValueError) else None
    if field and field[1] in a2a_pb2.DESCRIPTOR.message_types_by_name:
        return f"{field[1]}.{field[2]}"
    return ""


def _missing_import(error: ImportError) -> str:
    module = error.name or ""
    if module.partition(".")[0] != _SDK:
        return ""
    if isinstance(error, ModuleNotFoundError):
        return f"module {module!r}"
    name = re.match(r"cannot import name ('\w+')", str(error))
    return f"{name[1]} in {module!r}" if name else ""


def _is_of_the_sdk(value: object) -> bool:
    if isinstance(value, EnumTypeWrapper):
        return value.DESCRIPTOR.file is a2a_pb2.DESCRIPTOR
    if isinstance(value, ModuleType):
        home = value.__name__
    else:
        home = (value if isinstance(value, type) else type(value)).__module__
    return home.partition(".")[0] in (_SDK, _PROTOBUF)
