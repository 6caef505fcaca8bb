"""Values and queries of Temporal visibility."""

import hashlib
from datetime import datetime

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart

_LONGEST_KEYWORD = 200


def quote(value: str) -> str:
    """Return ``value`` as a string literal of the visibility query language."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def keyword(value: str) -> str:
    """Return ``value`` as it is indexed: SQL stores keep 255 bytes, so longer ones are hashed.

    A value that is empty or holds control characters is hashed too: stores differ in what they
    make of those.
    """
    plain = value.isprintable() and "\\" not in value and "'" not in value
    if plain and 0 < len(value.encode()) <= _LONGEST_KEYWORD and not value.startswith("sha256:"):
        return value
    return "sha256:" + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def start_attributes(start: TaskStart, state: str, at: datetime) -> TypedSearchAttributes:
    """Return the search attributes a new task starts with."""
    keywords = {
        wire.AGENT_ATTRIBUTE: start.agent,
        wire.OWNER_ATTRIBUTE: start.owner,
        wire.TENANT_ATTRIBUTE: start.tenant,
        wire.CONTEXT_ATTRIBUTE: start.context_id,
        wire.STATE_ATTRIBUTE: state,
    }
    return TypedSearchAttributes(
        [
            *(
                SearchAttributePair(SearchAttributeKey.for_keyword(name), keyword(value))
                for name, value in keywords.items()
            ),
            SearchAttributePair(SearchAttributeKey.for_datetime(wire.UPDATED_ATTRIBUTE), at),
        ]
    )
