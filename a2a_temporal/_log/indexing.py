"""What visibility holds of a task: the search attributes it is found by."""

import hashlib
import re
from typing import Final

from temporalio.common import SearchAttributeKey, SearchAttributePair

from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart

HASHED: Final = "sha256:"
"""What a value begins with that is indexed by its hash."""

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
