"""Values of Temporal visibility: what is indexed of a task, and how a query says it."""

import json
from datetime import datetime

from temporalio.api.common.v1 import SearchAttributes
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart, parse_time
from a2a_temporal._log.indexing import lasting_attributes


def quote(value: str) -> str:
    """Return ``value`` as a string literal of the visibility query language."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def indexed(attributes: SearchAttributes) -> tuple[str, int]:
    """Return the state, and its time in ms, that visibility holds of a task.

    What it does not hold is empty: the attributes may have been removed and registered again.
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
