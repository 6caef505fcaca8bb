"""The search attributes of a task: how they are written, read and asked for in a query."""

import hashlib
import json
import re
from datetime import datetime
from typing import Final

from temporalio.api.common.v1 import SearchAttributes
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart, parse_time

HASHED: Final = "sha256:"
"""The beginning of a value that is indexed by its hash."""

_LONGEST_KEYWORD = 200
_PLAIN = re.compile(r"[\w .:@/+=,~()#&!-]+")


def keyword(value: str) -> str:
    """Return ``value`` as it is indexed: readable where that is safe, otherwise hashed.

    SQL stores keep 255 bytes, and servers and stores differ in what they make of quotes, control
    characters, wildcards and outer blanks.
    """
    plain = _PLAIN.fullmatch(value) is not None and value == value.strip()
    if plain and len(value.encode()) <= _LONGEST_KEYWORD and not value.startswith(HASHED):
        return value
    return HASHED + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def lasting_attributes(start: TaskStart) -> list[SearchAttributePair[str]]:
    """Return the attributes that a task has from its start to its end."""
    values = {
        wire.AGENT_ATTRIBUTE: start.agent,
        wire.OWNER_ATTRIBUTE: start.owner,
        wire.TENANT_ATTRIBUTE: start.tenant,
        wire.CONTEXT_ATTRIBUTE: start.context_id,
    }
    return [
        SearchAttributePair(SearchAttributeKey.for_keyword(name), keyword(value))
        for name, value in values.items()
    ]


def quote(value: str) -> str:
    """Return ``value`` as a string literal of the visibility query language."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def indexed(attributes: SearchAttributes) -> tuple[str, int]:
    """Return the state, and its time in ms, that visibility holds of a task.

    Either may be empty: the attributes may have been removed and registered again.
    """
    fields = attributes.indexed_fields
    state = fields[wire.STATE_ATTRIBUTE].data if wire.STATE_ATTRIBUTE in fields else b""
    updated = fields[wire.UPDATED_ATTRIBUTE].data if wire.UPDATED_ATTRIBUTE in fields else b""
    return (
        str(json.loads(state)) if state else "",
        parse_time(json.loads(updated)).ToMilliseconds() if updated else 0,
    )


def keywords(attributes: SearchAttributes) -> dict[str, str]:
    """Return the attributes that hold a text."""
    found: dict[str, str] = {}
    for name, payload in attributes.indexed_fields.items():
        try:
            value = json.loads(payload.data)
        except ValueError:
            continue
        if isinstance(value, str):
            found[name] = value
    return found


def start_attributes(start: TaskStart, state: str, at: datetime) -> TypedSearchAttributes:
    """Return the search attributes a new task starts with."""
    state_key = SearchAttributeKey.for_keyword(wire.STATE_ATTRIBUTE)
    return TypedSearchAttributes(
        [
            *lasting_attributes(start),
            SearchAttributePair(state_key, state),
            SearchAttributePair(SearchAttributeKey.for_datetime(wire.UPDATED_ATTRIBUTE), at),
        ]
    )
