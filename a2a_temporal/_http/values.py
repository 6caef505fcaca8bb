"""How much a JSON body holds, counted before anything of it is parsed.

A value takes two bytes and a hundred times as much once it is parsed and converted, so the size of
a body alone says little of what it costs.
"""

import json
from typing import Any, cast

from a2a.utils.errors import InvalidParamsError

from a2a_temporal._server.checks import too_many_values as refusal

LARGEST_PARSED = 1_000_000
"""A body of too many values is parsed up to this size, to say what else is wrong, and to its id."""


def too_many_values(body: bytes, most: int) -> InvalidParamsError | None:
    """Return the refusal of a body that holds more values than that."""
    return refusal(most) if _signs(body) > most and _more_than(body, most) else None


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


def id_of(call: Any) -> str | int | None:
    """Return the id of a JSON-RPC call, if it has one that an answer may repeat."""
    request_id = cast("dict[str, Any]", call).get("id") if isinstance(call, dict) else None
    usable = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    return request_id if usable else None


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
