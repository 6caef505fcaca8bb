"""What a check of ``doctor`` found."""

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """How a check ended."""

    OK = "ok"
    NOTE = "note"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Finding:
    """What a check found, and what to do about it."""

    level: Level
    name: str
    text: str
