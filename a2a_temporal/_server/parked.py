"""One task as the people see it whom it waits for, and the query that finds such tasks."""

from dataclasses import dataclass, field
from datetime import timezone
from typing import Literal

from a2a.types.a2a_pb2 import Message, Role
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.converter import DataConverter

from a2a_temporal._log import wire
from a2a_temporal._log.entries import MessageEntry, now_text, parse_signal
from a2a_temporal._log.history import keeps_its_id
from a2a_temporal._log.indexing import keyword
from a2a_temporal._log.payloads import decoded
from a2a_temporal._log.reading import converter_of, read_log
from a2a_temporal._log.requests import (
    ANYONE,
    Answer,
    OpenRequest,
    RefusedError,
    Verdict,
    check_entitled,
    open_requests,
    parse_answer,
    parse_decision,
)
from a2a_temporal._log.state import LogState
from a2a_temporal._server.visibility import quote

View = Literal["decide", "asked"]
"""Tasks a person may decide or answer; tasks they made themselves and that wait for anybody."""

_BY_HAND: dict[str, Verdict] = {
    wire.APPROVE_SIGNAL: "approve",
    wire.REJECT_SIGNAL: "reject",
    wire.ANSWER_SIGNAL: "answer",
}


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

    @property
    def names(self) -> tuple[str, ...]:
        """Every name by which a request may address this person."""
        return tuple(name for name in (self.name, *self.groups) if name)

    def may_see(self, state: LogState) -> bool:
        """Say whether a task exists for this person."""
        if self.tenant is not None and state.start.tenant != self.tenant:
            return False
        return (
            self.operator
            or state.start.owner == self.name
            or ANYONE in state.approvers
            or bool(state.approvers.intersection(self.names))
        )


@dataclass(frozen=True)
class Pending:
    """An answer that Temporal has stored and no worker has looked at yet."""

    answer: Answer
    at: str


@dataclass(frozen=True)
class Waiting:
    """A task: its folded log, the requests open in it, the answers not looked at yet.

    ``version`` changes with whatever is written into the task's history, but for workflow tasks.
    """

    state: LogState
    requests: list[OpenRequest]
    pending: list[Pending] = field(default_factory=list[Pending])
    version: str = ""

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self.state.task.id

    @property
    def question(self) -> str:
        """What the agent said when it parked."""
        parts = self.state.task.status.message.parts
        return "\n".join(part.text for part in parts if part.text)

    def takes(self, request_id: str) -> bool:
        """Say whether a request is open; the empty id stands for a question in plain words."""
        if not request_id:
            return self.state.interrupted and not self.requests
        return any(each.id == request_id for each in self.requests)


def is_the_agents(state: LogState, message: Message) -> bool:
    """Say whether a message of a task is the agent's: only those report decisions.

    What a client sent is not, whatever role and metadata it wrote into it.
    """
    return message.role != Role.ROLE_USER and message.message_id not in state.accepted


def agent_messages(state: LogState) -> list[Message]:
    """Return what the agent's side has said so far, in order."""
    said = [*state.task.history, state.task.status.message]
    return [message for message in said if is_the_agents(state, message)]


def requests_in(state: LogState) -> list[OpenRequest]:
    """Return the requests that are open in a task.

    A client's message that the workflow has yet to read moves the status message to the history:
    what that asked is open still.
    """
    if state.task.status.HasField("message"):
        return open_requests(state.task.status.message)
    said = [message for message in state.task.history if is_the_agents(state, message)]
    return open_requests(said[-1]) if said and (state.interrupted or state.answers) else []


def why_not(person: Person, request: OpenRequest) -> str:
    """Return why this person cannot decide or answer a request now; empty when they can."""
    try:
        check_entitled(
            request,
            Answer(
                "answer" if request.kind != "approval" else "approve",
                by=person.name,
                groups=person.groups,
                verified=person.verified,
                door="cli" if person.operator else "inbox",
            ),
        )
    except RefusedError as refused:
        return str(refused)
    return ""


async def read_waiting(client: Client, task_id: str) -> Waiting:
    """Read a task's log, and what its history holds behind the last workflow task.

    Raises:
        NoTaskError: The workflow is no A2A task.
        temporalio.service.RPCError: Temporal did not answer, or knows no such workflow.
    """
    tail = _Tail()
    state = await read_log(client, task_id, watch=tail.watch)
    pending: list[Pending] = []
    for event in tail.signals:
        answer = await _answer_in(event, converter_of(client, task_id))
        if answer is not None:
            at = event.event_time.ToDatetime(tzinfo=timezone.utc)
            pending.append(Pending(answer, now_text(at)))
    return Waiting(state, requests_in(state), pending, tail.version)


def waiting_query(person: Person, view: View = "decide") -> str:
    """Return the visibility query for what waits for a person."""
    conditions = [
        "ExecutionStatus = 'Running'",
        f"{wire.STATE_ATTRIBUTE} IN ('input-required', 'auth-required')",
    ]
    if person.tenant is not None:
        conditions.append(f"{wire.TENANT_ATTRIBUTE} = {quote(keyword(person.tenant))}")
    own = f"{wire.OWNER_ATTRIBUTE} = {quote(keyword(person.name))}"
    if view == "asked":
        conditions.append(own)
    elif not person.operator:
        names = ", ".join(quote(name) for name in (*person.names, ANYONE))
        named = f"{wire.APPROVERS_ATTRIBUTE} IN ({names})"
        conditions.append(f"({named} OR ({own} AND {wire.APPROVERS_ATTRIBUTE} IS NULL))")
    return " AND ".join(conditions)


class _Tail:
    """Keeps the signals behind the last completed workflow task: no worker has seen them."""

    def __init__(self) -> None:
        self.signals: list[HistoryEvent] = []
        self.version = ""
        self._run = ""

    def watch(self, event: HistoryEvent) -> None:
        kind = event.WhichOneof("attributes")
        if kind == "workflow_execution_started_event_attributes":
            run_id = event.workflow_execution_started_event_attributes.original_execution_run_id
            self._run = run_id[:8]
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
    if name in _BY_HAND:
        try:
            return parse_answer(_BY_HAND[name], value)
        except RefusedError:
            return None
    entry = parse_signal(name, value)
    if isinstance(entry, MessageEntry):
        text = "\n".join(part.text for part in entry.message.parts if part.text)
        by = str(entry.request.get("user", ""))
        return Answer("answer", by=by, door="a2a", answer=text, token=entry.message.message_id)
    return None
