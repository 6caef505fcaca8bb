"""What the clients did and saw, and what happened to the processes: the evidence of a run."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.results import Json


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A task as one answer or one stream frame showed it.

    Attributes:
        asked: When the call began, in seconds since 1970.
        answered: When the answer was there.
        source: `get`, `send`, `cancel`, `list` or `stream`; only what `get` shows is whole.
        task: The Task, or of a status update what it says.
    """

    task_id: str
    asked: float
    answered: float
    source: str
    task: Json


@dataclass(kw_only=True)
class Said:
    """A message, sent until it was acknowledged or refused.

    Attributes:
        acknowledged: The tasks that answers to it named; more than one is a fault.
        refused: Code of the error that refused it for good.
        effects: Names of the steps that stand in it, each of which is to happen once.
        forbidden: Names of those that stand in it too, and are to happen never.
    """

    message_id: str
    text: str
    task_id: str = ""
    acknowledged: set[str] = field(default_factory=set[str])
    refused: int = 0
    effects: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Streamed:
    """What a client held of a task that it knew from streams alone, beside what GetTask said.

    Attributes:
        opened: How many streams it took.
        doubled: Cursors of events that came twice.
        held: The view of the Task that the stream made; None when the end was missed, as plain
            subscriptions may.
        final: The view of the Task that GetTask gave.
    """

    task_id: str
    cursors: bool
    opened: int
    frames: int
    doubled: tuple[str, ...]
    held: Json | None
    final: Json


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What was done to a process, and from when to when it could not work."""

    at: float
    until: float
    target: str
    action: str
    pid: int


@dataclass(frozen=True, kw_only=True)
class Exit:
    """A process that ended without having been told to."""

    at: float
    name: str
    code: int
    pid: int
    tail: str = ""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An error answer, byte for byte."""

    call: str
    code: int
    status: int
    body: str


@dataclass
class Journal:
    """All of it, for one run."""

    seen: list[Seen] = field(default_factory=list[Seen])
    said: list[Said] = field(default_factory=list[Said])
    streamed: list[Streamed] = field(default_factory=list[Streamed])
    faults: list[Fault] = field(default_factory=list[Fault])
    exits: list[Exit] = field(default_factory=list[Exit])
    refusals: list[Refusal] = field(default_factory=list[Refusal])
    complaints: list[str] = field(default_factory=list[str])
    contexts: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    expected: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    hooked: set[str] = field(default_factory=set[str])
    counts: Counter[str] = field(default_factory=Counter[str])
    clock: Callable[[], float] = time.time

    def saw(self, task: Json, *, asked: float, source: str) -> None:
        """Note a Task of an answer, or what a status update says of one."""
        task_id = str(task.get("id") or task.get("taskId"))
        self.seen.append(
            Seen(task_id=task_id, asked=asked, answered=self.clock(), source=source, task=task)
        )

    def complain(self, text: str) -> None:
        """Note a fault that a client has met itself."""
        self.complaints.append(text)

    def belongs(self, task_id: str, *, context_id: str, expected: frozenset[str]) -> None:
        """Note a task, its context, and the states it may end in."""
        self.contexts.setdefault(context_id, set()).add(task_id)
        self.expected[task_id] = expected

    @property
    def tasks(self) -> set[str]:
        """All tasks that clients know."""
        return {task_id for said in self.said for task_id in said.acknowledged}
