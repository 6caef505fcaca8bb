"""Names of people and groups: the one form in which they are compared, and how they are indexed."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from a2a_temporal._log.indexing import keyword

_NO_CHARACTERS = "\ufdd0-\ufdef" + "".join(
    chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF)
)
# Unicode's Default_Ignorable_Code_Point, which Python has no table of, the blank of Braille, and
# the noncharacters.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    f"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff{_NO_CHARACTERS}]"
)

ANYONE = "*"
LONGEST_NAME = 500


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """Return the form in which names are compared: empty for one that nobody can see.

    NFKC, casefold, no invisible and no control characters, single blanks, none outside.
    """
    before = None
    while name != before:  # casefold and NFKC may each undo what the other has made
        before = name
        name = unicodedata.normalize("NFKC", name).casefold()
        name = _INVISIBLE.sub("", name)
        name = "".join(
            each for each in name if each.isspace() or unicodedata.category(each) != "Cc"
        )
        name = " ".join(name.split())
    return name


def same(one: str, other: str) -> bool:
    """Say whether two names are those of one person or group; an empty one is nobody's."""
    return bool(normal(one)) and normal(one) == normal(other)


def normals(names: Iterable[str]) -> frozenset[str]:
    """Return names in the form in which they are compared, without empty ones."""
    return frozenset(filter(None, map(normal, names)))


def indexed_name(name: str) -> str:
    """Return how the search attribute ``A2aApprovers`` has the name of somebody who is asked."""
    return name if name == ANYONE else keyword(normal(name))
