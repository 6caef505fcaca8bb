"""JSON bodies: what is refused before and after they are parsed, and numbers in the answers.

A value takes two bytes and a hundred times as much once it is parsed and converted, so the size of
a body alone says little of what it costs.
"""

import json
from collections.abc import Callable
from typing import Any, cast

from a2a.utils.errors import A2AError, InvalidParamsError

from a2a_temporal._log.conversion import is_base64, whole
from a2a_temporal._server.validation import too_many_values as refusal

NOT_JSON = "The request body is not valid JSON"

_NO_TEXT = (
    "The request body holds a part of a character where text is to be. Write each character as a "
    "whole: the escapes \\ud800 to \\udfff come in pairs."
)

# The first byte of such a part that is no escape, and of some whole characters.
_FIRST_BYTE = b"\xed"

# A body of too many values is parsed up to this size, for the id of the call.
_LARGEST_PARSED = 1_000_000

# Where 1.0 and the protobuf of 0.3 have parts, and the bytes in them.
_PARTS = ("parts", "content")
_BYTES = ("raw", "fileWithBytes", "file_with_bytes")


def parsed(
    body: bytes, most: int, load: Callable[[bytes], Any] = json.loads
) -> tuple[Any, A2AError | None]:
    """Return what a body holds, and the error it is refused with.

    Args:
        body: As it was sent.
        most: The largest number of values that a body may hold.
        load: Parses JSON.

    Raises:
        ValueError: It is no JSON, or nested too deeply to be parsed.
    """
    error = too_many_values(body, most)
    if error is not None and len(body) > _LARGEST_PARSED:
        return None, error
    try:
        value = load(body)
    except RecursionError as too_deep:
        raise ValueError(NOT_JSON) from too_deep
    if error is None and not _is_text(body, value):
        return None, InvalidParamsError(message=_NO_TEXT)
    return value, error


def load_once(body: bytes) -> Any:
    """Parse JSON in which no object has two members of one name, as two readers differ on them.

    Raises:
        ValueError: It is none.
    """
    return json.loads(body, object_pairs_hook=_members)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has two members of one name")
    return members


def too_many_values(body: bytes, most: int) -> InvalidParamsError | None:
    """Return the refusal of a body that holds more values than that."""
    return refusal(most) if _signs(body) > most and _more_than(body, most) else None


def _more_than(body: bytes, most: int) -> bool:
    """Count without what the strings hold, in a few steps over the whole body."""
    plain = body
    if b"\\" in body:
        plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Each string is a value, or the name of one.
    if plain.count(b'"') > 4 * most:
        return True
    return _signs(b"".join(plain.split(b'"')[::2])) > most


def _signs(text: bytes) -> int:
    """Return the number of values, an empty list or object counted as two."""
    return 1 + text.count(b",") + text.count(b"[") + text.count(b"{")


def _is_text(body: bytes, value: Any) -> bool:
    """Say whether all strings in a JSON body are text."""
    if b"\\u" not in body and _FIRST_BYTE not in body:
        return True
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    except RecursionError:  # refused for its depth by its next reader
        return True
    return True


def check_files(message: Any) -> None:
    """Check the bytes in the parts of a message.

    Python's readers drop what does not belong to the alphabet: a broken file would become another
    one, or an empty one.

    Raises:
        InvalidParamsError: Some are no base64; the text says which.
    """
    for name in _PARTS:
        parts: Any = as_object(message).get(name)
        for index, part in enumerate(cast("list[Any]", parts) if isinstance(parts, list) else []):
            for where, text in _bytes(as_object(part)):
                if not is_base64(text):
                    raise InvalidParamsError(
                        f"message.{name}[{index}].{where} is no base64. Encode the bytes of the "
                        "file by RFC 4648, without line breaks."
                    )


def _bytes(part: dict[str, Any]) -> list[tuple[str, str]]:
    found = [("", part), ("file.", as_object(part.get("file")))]
    return [
        (prefix + name, holder[name])
        for prefix, holder in found
        for name in _BYTES
        if isinstance(holder.get(name), str)
    ]


def as_object(value: Any) -> dict[str, Any]:
    """Return a JSON value as an object; what is none is an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def with_whole_numbers(text: str) -> str:
    """Return JSON with whole numbers written as such: protobuf makes each number a double."""
    if ".0" not in text:
        return text
    value = json.loads(text, parse_float=_number)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _number(text: str) -> float:
    return whole(float(text))
