"""Reading the ledger: the only witness a test believes."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Line:
    """One line of the ledger."""

    task: str
    kind: str
    step: int | str
    attempt: int
    time: float
    pid: int
    key: str | None = None


class LedgerReader:
    """Reads the file the workers append to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self, task_id: str | None = None, *kinds: str) -> list[Line]:
        """Return the lines of a task (of all tasks for None), of some kinds, in written order."""
        if not self.path.exists():
            return []
        found: list[Line] = []
        for text in self.path.read_text().splitlines():
            raw: dict[str, Any] = json.loads(text)
            line = Line(**raw)
            if task_id in (None, line.task) and (not kinds or line.kind in kinds):
                found.append(line)
        return found

    def count(self, task_id: str, *kinds: str) -> int:
        """Return how many lines there are."""
        return len(self.lines(task_id, *kinds))
