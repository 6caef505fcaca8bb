"""Places in a task's log, and the stream events that stand there."""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from a2a.types.a2a_pb2 import Task, TaskState, TaskStatusUpdateEvent

from a2a_temporal._log.entries import Entry, EventsEntry
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import StreamEvent
from a2a_temporal._log.state import LogState

_TEXT = re.compile(r"([0-9A-Za-z-]{1,64})\.(\d{1,9})\.(\d{1,9})")


@dataclass(frozen=True)
class LogPosition:
    """A place in a task's log: the ``index``-th event made from a history event of a run.

    With ``ALL`` as its index it stands behind everything made from that history event. As a text it
    is the cursor of a stream and the id of a push notification. ``generation`` is the number of the
    newest event up to here.
    """

    ALL: ClassVar[int] = 999_999_999

    run_id: str
    event_id: int = 1
    index: int = 0
    generation: int = field(default=0, compare=False)

    def __str__(self) -> str:
        """Return the text of it on the wire."""
        return f"{self.run_id}.{self.event_id}.{self.index}"

    @classmethod
    def parse(cls, text: str) -> "LogPosition | None":
        """Read the text of one; ``None`` when it is not the text of one."""
        found = _TEXT.fullmatch(text.strip())
        return cls(found[1], int(found[2]), int(found[3])) if found else None

    def is_behind(self, other: "LogPosition") -> bool:
        """Say whether it comes after another place in the same run."""
        return (self.event_id, self.index) > (other.event_id, other.index)


@dataclass(frozen=True)
class LogEvent:
    """A stream event, where it stands in the log, and the turn it belongs to.

    ``shared`` holds, by name, what is made of the event once for all its readers.
    """

    position: LogPosition
    event: StreamEvent
    turn: int
    shared: dict[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)

    @property
    def state(self) -> TaskState | None:
        """The state the event brings the task into, if it says one."""
        if isinstance(self.event, (TaskStatusUpdateEvent, Task)):
            return self.event.status.state
        return None


def log_events(state: LogState, entry: Entry, run_id: str, event_id: int) -> list[LogEvent]:
    """Fold an entry and return the stream events it makes, each with its place in the log."""
    made = fold(state, entry)
    turn = entry.turn if isinstance(entry, EventsEntry) else state.turns
    first = state.generation - len(made) + 1
    return [
        LogEvent(LogPosition(run_id, event_id, index, first + index), event, turn)
        for index, event in enumerate(made)
    ]


def task_event(state: LogState, event_id: int, index: int = LogPosition.ALL) -> LogEvent:
    """Return the Task as a stream event, for readers who saw another."""
    position = LogPosition(state.run_id, event_id, index, state.generation)
    return LogEvent(position, state.copy_task(), state.status_turn)
