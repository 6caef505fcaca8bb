"""A task as seen by the people it waits for, and the query that finds such tasks."""

from dataclasses import dataclass, field, replace
from datetime import timezone
from typing import Any, Literal

from temporalio.api.history.v1 import HistoryEvent
from temporalio.converter import DataConverter

from a2a_temporal._gateway import OPEN, converter_of
from a2a_temporal._log import wire
from a2a_temporal._log.answers import (
    SIGNAL_DECISIONS,
    Answer,
    RefusedError,
    asks,
    check_entitled,
    parse_answer,
    parse_decision,
    speaker_of,
)
from a2a_temporal._log.entries import MessageEntry, now_text, parse_signal
from a2a_temporal._log.indexing import keyword, quote
from a2a_temporal._log.names import ANYONE, indexed_name, normal, normals
from a2a_temporal._log.published import agent_messages, published, requests_in
from a2a_temporal._log.requests import OpenRequest
from a2a_temporal._log.state import LogState
from a2a_temporal._reading.cache import Logs
from a2a_temporal._reading.decode import decoded, keeps_its_id
from a2a_temporal._reading.reader import read_log

View = Literal["decide", "asked"]
"""Tasks a person may decide or answer; tasks they made themselves and that wait for anybody."""


@dataclass(frozen=True)
class Person:
    """Who looks or answers: a name, groups, and whether a server has authenticated them.

    An ``operator`` sees everything that is open, as somebody with access to the Temporal namespace
    could; the command line acts as one. With a ``tenant`` only tasks of that tenant exist for the
    person; by default those of all.
    """

    name: str
    groups: tuple[str, ...] = ()
    verified: bool = False
    operator: bool = False
    tenant: str | None = None

    def __post_init__(self) -> None:
        """Check the types, as names come from files, headers and claims."""
        names: list[Any] = [self.name, *self.groups]
        if isinstance(self.groups, str) or not all(isinstance(each, str) for each in names):
            raise TypeError(f"Person takes a name and a tuple of groups, got {names!r:.200}")

    @property
    def names(self) -> tuple[str, ...]:
        """Every name by which a request may address this person."""
        return tuple(name for name in (self.name, *self.groups) if normal(name))

    def may_see(self, state: LogState) -> bool:
        """Say whether a task exists for this person."""
        if self.tenant is not None and state.start.tenant != self.tenant:
            return False
        return self.decides_all(state) or self.was_asked(state)

    def decides_all(self, state: LogState) -> bool:
        """Say whether a task is this person's own, or this is an operator."""
        return self.operator or (bool(self.name) and state.start.owner == self.name)

    def is_asked(self, state: LogState) -> bool:
        """Say whether a request is open that names this person, a group of theirs, or everybody."""
        return not state.terminal and bool(normals([*self.names, ANYONE]) & state.asking)

    def was_asked(self, state: LogState) -> bool:
        """Say whether this person, or a group of theirs, was ever asked to decide in a task."""
        return ANYONE in state.approvers or bool(normals(state.approvers) & normals(self.names))


@dataclass(frozen=True)
class Pending:
    """An answer that Temporal has stored and no worker has looked at yet."""

    answer: Answer
    at: str


@dataclass(frozen=True)
class Waiting:
    """A task: its folded log, the requests open in it, the answers not looked at yet.

    ``past`` says that nothing is open any more for the person who looks: only what was decided is
    theirs to see. ``version`` changes with whatever is written into the task's history, but for
    workflow tasks.
    """

    state: LogState
    requests: list[OpenRequest]
    pending: list[Pending] = field(default_factory=list[Pending])
    version: str = ""
    past: bool = False

    @property
    def problems(self) -> list[str]:
        """What of its requests and records cannot be read, in words."""
        messages = agent_messages(self.state)
        return [problem for message in messages for problem in published(message).problems]

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self.state.task.id

    @property
    def question(self) -> str:
        """The text with which the task waits."""
        parts = self.state.task.status.message.parts
        return "\n".join(part.text for part in parts if part.text)

    def takes(self, request_id: str) -> bool:
        """Say whether a request is open; the empty id stands for a question in plain words."""
        if not request_id:
            return self.state.interrupted and not self.requests
        return any(each.id == request_id for each in self.requests)


def why_not(person: Person, request: OpenRequest, state: LogState) -> str:
    """Return why this person cannot decide or answer a request now; empty when they can."""
    try:
        check_asked(person, request, state)
        check_entitled(
            request,
            Answer(
                "answer" if request.kind != "approval" else "approve",
                by=person.name,
                groups=person.groups,
                verified=person.verified,
                channel="cli" if person.operator else "inbox",
            ),
        )
    except RefusedError as refused:
        return str(refused)
    return ""


def check_asked(person: Person, request: OpenRequest, state: LogState) -> None:
    """Check that a request is open for this person; one that names nobody is for the task's owner.

    Raises:
        RefusedError: It is for others.
    """
    if not person.decides_all(state) and not asks(request, person.names):
        asked = ", ".join(request.approvers) or state.start.owner or "the person who made the task"
        raise RefusedError(f"{request.id!r} is asked of {asked}.")


async def read_waiting(logs: Logs, task_id: str) -> Waiting:
    """Read a task's log, and what its history holds behind the last workflow task.

    Args:
        logs: Those of this process, with a :class:`Tail` for each.
        task_id: The task.

    Raises:
        NoTaskError: The workflow is no A2A task.
        temporalio.service.RPCError: Temporal did not answer, or knows no such workflow.
    """
    state, tail = await logs.state(task_id), logs.watch_of(task_id)
    if not isinstance(tail, Tail):  # too large to be kept
        tail = Tail()
        state = await read_log(logs.client, task_id, watch=tail)
    pending: list[Pending] = []
    for event in list(tail.signals):
        answer = await _answer_in(event, converter_of(logs.client, task_id))
        if answer is not None:
            at = event.event_time.ToDatetime(tzinfo=timezone.utc)
            pending.append(Pending(answer, now_text(at)))
    return Waiting(state, requests_in(state), pending, tail.version)


def waiting_query(person: Person, view: View = "decide") -> str:
    """Return the visibility query for what waits for a person."""
    conditions = [
        OPEN,
        f"{wire.STATE_ATTRIBUTE} IN ('input-required', 'auth-required')",
    ]
    if person.tenant is not None:
        conditions.append(f"{wire.TENANT_ATTRIBUTE} = {quote(keyword(person.tenant))}")
    own = f"{wire.OWNER_ATTRIBUTE} = {quote(keyword(person.name))}"
    if view == "asked":
        conditions.append(own)
    elif not person.operator:
        # In the form in which names are compared, and as writers in other languages may have it.
        known = dict.fromkeys([*map(indexed_name, person.names), *person.names, ANYONE])
        names = ", ".join(map(quote, known))
        named = f"{wire.APPROVERS_ATTRIBUTE} IN ({names})"
        conditions.append(f"({named} OR ({own} AND {wire.APPROVERS_ATTRIBUTE} IS NULL))")
    return " AND ".join(conditions)


class Tail:
    """Keeps the signals behind the last completed workflow task: no worker has seen them."""

    def __init__(self) -> None:
        self.signals: list[HistoryEvent] = []
        self.version = ""
        self._run = ""

    def __call__(self, event: HistoryEvent) -> None:
        """Note a history event."""
        kind = event.WhichOneof("attributes")
        if kind == "workflow_execution_started_event_attributes":
            run_id = event.workflow_execution_started_event_attributes.original_execution_run_id
            self._run = run_id[:8]
            self.signals.clear()
        elif kind == "workflow_task_completed_event_attributes":
            self.signals.clear()
        elif kind == "workflow_execution_signaled_event_attributes":
            self.signals.append(event)
        if keeps_its_id(event):
            self.version = f"{self._run}-{event.event_id}"


async def _answer_in(event: HistoryEvent, converter: DataConverter) -> Answer | None:
    signaled = event.workflow_execution_signaled_event_attributes
    name = signaled.signal_name
    if name not in wire.TASK_SIGNALS:  # one of the author's, with a content of its own
        return None
    value = await decoded(signaled.input.payloads[:1], converter)
    if name == wire.DECISION_SIGNAL:
        return parse_decision(value)
    if name in SIGNAL_DECISIONS:
        try:
            return parse_answer(name, value)
        except RefusedError:
            return None
    entry = parse_signal(name, value)
    if isinstance(entry, MessageEntry):
        text = "\n".join(part.text for part in entry.message.parts if part.text)
        return replace(speaker_of(entry.request), answer=text, token=entry.message.message_id)
    return None
