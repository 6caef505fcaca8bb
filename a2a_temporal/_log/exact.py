"""JSON that the task log holds exactly: what is asked, shown, hashed and handed out is one value.

The log carries details in a protobuf ``Struct``, and people read them in browsers and other
languages: numbers are doubles there.
"""

import json
import math
from enum import Enum
from typing import Any, cast

_UNSAFE = 2**53
DEEPEST = 20


class InexactError(ValueError):
    """A value that the log, or a reader of it, would change; says where, why, and what to do."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


def exact(value: Any, path: str = "details") -> Any:
    """Return a JSON value as the log holds it: whole numbers as integers, sequences as lists.

    Raises:
        InexactError: The log cannot hold it exactly.
    """
    return _exact(value, path, 0)


def read_json(text: str) -> Any:
    """Read JSON that somebody typed.

    Raises:
        ValueError: It is no JSON, or names a field of an object twice.
    """
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r:.60} stands there twice")
    return fields


def _no_number(text: str) -> Any:
    raise ValueError(f"JSON has no number {text}")


def is_text(text: Any) -> bool:
    """Say whether the log can hold a text: it is one, without half a surrogate pair."""
    return isinstance(text, str) and not any("\ud800" <= each <= "\udfff" for each in text)


def _exact(value: Any, path: str, depth: int) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if not is_text(value):
            raise InexactError(path, "the text holds half a surrogate pair, which is no Unicode.")
        return str.__str__(value)
    if isinstance(value, (int, float)):
        return _number(value, path)
    if isinstance(value, (dict, list, tuple)) and depth >= DEEPEST:
        raise InexactError(path[:200], f"it is nested deeper than {DEEPEST} levels.")
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        written = {
            _key(key, path): _exact(fields[key], f"{path}.{key}", depth + 1) for key in fields
        }
        if len(written) < len(fields):  # members of an Enum, of the same value
            raise InexactError(path, "two of its keys are the same text in JSON.")
        return written
    if isinstance(value, (list, tuple)):
        items = cast("list[Any]", value)
        return [_exact(each, f"{path}[{at}]", depth + 1) for at, each in enumerate(items)]
    raise InexactError(
        path, f"{type(value).__name__} is no JSON. Write it as a text, such as {str(value)!r:.60}."
    )


def _number(value: int | float, path: str) -> int | float:
    if isinstance(value, float) and not math.isfinite(value):
        raise InexactError(path, f"JSON has no number {value!r}. Write it as a text.")
    if isinstance(value, float) and not value.is_integer():
        return float(value)
    whole = int(value)
    if abs(whole) >= _UNSAFE:
        shown = str(whole) if whole.bit_length() < 128 else "It"
        raise InexactError(
            path,
            f"{shown} is a whole number beyond 2^53, of which readers of JSON lose digits. Write "
            "it as a text.",
        )
    return whole


def _key(key: Any, path: str) -> str:
    if isinstance(key, Enum):
        key = key.value
    if not is_text(key):
        raise InexactError(path, f"the key {key!r:.60} is no text. Keys of JSON are texts.")
    return str.__str__(key)
