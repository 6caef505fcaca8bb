"""JSON as text: what is valid and yet none, and numbers as the sender wrote them."""

import json
from typing import Any

from a2a_temporal._log.conversion import whole

NO_TEXT = (
    "The request body holds a part of a character where text is to be. Write each character as a "
    "whole: the escapes \\ud800 to \\udfff come in pairs."
)

_FIRST_BYTE = b"\xed"  # of such a part that is no escape, and of some whole characters


def is_text(body: bytes, value: Any) -> bool:
    """Say whether all strings in a JSON body are text.

    Args:
        body: As it was sent.
        value: As it was parsed.
    """
    if b"\\u" not in body and _FIRST_BYTE not in body:
        return True
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    except RecursionError:  # refused for its depth by who reads it next
        return True
    return True


def with_whole_numbers(text: str) -> str:
    """Return JSON with whole numbers written as such: protobuf makes each number a double."""
    if ".0" not in text:
        return text
    value = json.loads(text, parse_float=_number)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _number(text: str) -> float:
    return whole(float(text))
