"""Values of Temporal visibility: what is indexed of a task, and how a query says it."""

import hashlib
import re
from datetime import datetime

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart

_LONGEST_KEYWORD = 200
_PLAIN = re.compile(r"[\w .:@/+=,~()#&!-]+")


def quote(value: str) -> str:
    """Return ``value`` as a string literal of the visibility query language."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def keyword(value: str) -> str:
    """Return ``value`` as it is indexed: readable where that is safe, otherwise hashed.

    SQL stores keep 255 bytes, and servers and stores differ in what they make of quotes, control
    characters, wildcards and outer blanks.
    """
    plain = _PLAIN.fullmatch(value) is not None and value == value.strip()
    if plain and len(value.encode()) <= _LONGEST_KEYWORD and not value.startswith("sha256:"):
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
