"""What waits for people, across all agents of a namespace, and their answers.

The inbox and the command line are built on this. Tasks are found through search attributes; what is
asked is read from the task's log; an answer is the signal ``a2a_decision``, durable once sent.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from a2a.types.a2a_pb2 import Message
from temporalio.api.workflowservice.v1 import ListWorkflowExecutionsRequest
from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal._log import wire
from a2a_temporal._log.entries import now_text
from a2a_temporal._log.fold import LogState
from a2a_temporal._log.reading import NoTaskError, read_log
from a2a_temporal._log.requests import (
    ANYONE,
    Answer,
    OpenRequest,
    Record,
    RefusedError,
    check_entitled,
    find,
    handled_token,
    open_requests,
    record_in,
)
from a2a_temporal._server.engine_errors import is_closed_workflow, is_missing_workflow, within
from a2a_temporal._server.followers import Followers
from a2a_temporal._server.visibility import keyword, quote

_RPC_TIMEOUT = timedelta(seconds=5)
_DECISION_WAIT = timedelta(seconds=5)


class UnknownTaskError(LookupError):
    """There is no such task for this person."""


@dataclass(frozen=True)
class Person:
    """Who looks or answers: a name, groups, and whether a server has authenticated them.

    An ``operator`` sees and may answer everything that is open, as somebody with access to the
    Temporal namespace could; the command line acts as one.
    """

    name: str
    groups: tuple[str, ...] = ()
    verified: bool = False
    operator: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Every name by which a request may address this person."""
        return tuple(name for name in (self.name, *self.groups) if name)


@dataclass(frozen=True)
class Waiting:
    """A parked task: its folded log and the requests that are open in it."""

    state: LogState
    requests: list[OpenRequest]

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self.state.task.id

    @property
    def question(self) -> str:
        """What the agent said when it parked."""
        parts = self.state.task.status.message.parts
        return "\n".join(part.text for part in parts if part.text)


@dataclass(frozen=True)
class Page:
    """Some of the parked tasks; ``next_token`` is empty on the last page."""

    tasks: list[Waiting] = field(default_factory=list[Waiting])
    next_token: bytes = b""


@dataclass(frozen=True)
class Outcome:
    """What became of an answer.

    ``handled`` is False while no worker has looked at it: it is stored and will be. ``refused``
    says why it did not count; ``record`` is the audit record when it did.
    """

    handled: bool
    refused: str = ""
    record: Record | None = None


class Approvals:
    """Parked tasks of a namespace.

    Args:
        client: Connected client.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._followers = Followers(client, agent="", long_polls=100)

    async def aclose(self) -> None:
        """Stop following."""
        await self._followers.aclose()

    async def waiting(self, person: Person, *, size: int = 25, token: bytes = b"") -> Page:
        """Return the parked tasks this person may decide or answer, newest first within a page.

        Raises:
            temporalio.service.RPCError: Temporal did not answer.
        """
        page = await self._client.workflow_service.list_workflow_executions(
            ListWorkflowExecutionsRequest(
                namespace=self._client.namespace,
                page_size=size,
                next_page_token=token,
                query=_waiting_query(person),
            ),
            timeout=_RPC_TIMEOUT,
        )
        tasks: list[Waiting] = []
        for info in page.executions:
            try:
                tasks.append(await self.task(person, info.execution.workflow_id))
            except UnknownTaskError:
                continue
        return Page([task for task in tasks if task.state.interrupted], page.next_page_token)

    async def count(self, person: Person) -> int:
        """Return how many parked tasks there are for this person.

        Raises:
            temporalio.service.RPCError: Temporal did not answer.
        """
        counted = await self._client.count_workflows(
            _waiting_query(person), rpc_timeout=_RPC_TIMEOUT
        )
        return counted.count

    async def task(self, person: Person, task_id: str) -> Waiting:
        """Return one task, parked or not.

        Raises:
            UnknownTaskError: There is no such task for this person.
            temporalio.service.RPCError: Temporal did not answer.
        """
        try:
            state = await read_log(self._client, task_id)
        except NoTaskError as error:
            raise UnknownTaskError(task_id) from error
        except RPCError as error:
            if is_missing_workflow(error):
                raise UnknownTaskError(task_id) from error
            raise
        if not _may_see(person, state):
            raise UnknownTaskError(task_id)
        return Waiting(state, open_requests(state.task.status.message))

    async def decide(self, person: Person, task_id: str, answer: Answer) -> Outcome:
        """Send an answer and wait a moment for the workflow to say whether it counts.

        Args:
            person: Who answers.
            task_id: The task.
            answer: The answer; its ``token``, if given, makes sending it again harmless.

        Raises:
            UnknownTaskError: There is no such task for this person.
            RefusedError: The answer cannot count; nothing was sent.
            temporalio.service.RPCError: Temporal did not answer; send it again.
        """
        answer = replace(
            answer,
            by=person.name,
            groups=person.groups,
            verified=person.verified,
            token=answer.token or uuid.uuid4().hex,
        )
        waiting = await self.task(person, task_id)
        earlier = _outcome_in(waiting.state, answer.token)
        if earlier is not None:
            return earlier
        kinds = ("input", "auth") if answer.verdict == "answer" else ("approval",)
        if waiting.state.terminal:
            raise RefusedError("The task has ended; there is nothing left to decide.")
        if waiting.requests:
            request = find(waiting.requests, answer, kinds)
            check_entitled(request, answer)
            answer = replace(answer, request=request.id)
        elif answer.verdict == "answer":
            return await self._answer_agent(person, waiting, answer)
        else:
            raise RefusedError("Nothing waits for an approval in this task.")
        return await self._send(waiting.state, wire.DECISION_SIGNAL, asdict(answer), answer.token)

    async def records(self, query: str = "") -> AsyncIterator[dict[str, Any]]:
        """Yield every audit record there is, task by task, as plain JSON.

        Args:
            query: A visibility query that narrows the tasks down.
        """
        condition = f"{wire.AGENT_ATTRIBUTE} IS NOT NULL"
        async for execution in self._client.list_workflows(
            f"({query}) AND {condition}" if query else condition
        ):
            try:
                state = await read_log(self._client, execution.id)
            except NoTaskError:
                continue
            for message in [*state.task.history, state.task.status.message]:
                record = record_in(message)
                if record is not None:
                    yield {
                        "task": state.task.id,
                        "agent": state.start.agent,
                        "owner": state.start.owner,
                        "tenant": state.start.tenant,
                        "context": state.task.context_id,
                        **asdict(record),
                    }

    async def _answer_agent(self, person: Person, waiting: Waiting, answer: Answer) -> Outcome:
        """Answer an agent that asked in plain words: a message on its task."""
        entry = {
            "version": wire.LOG_VERSION,
            "message": {
                "messageId": answer.token,
                "role": "ROLE_USER",
                "parts": [{"text": str(answer.answer or answer.comment)}],
            },
            "request": {
                "user": person.name,
                "authenticated": person.verified,
                "groups": list(person.groups),
            },
            "at": now_text(datetime.now(timezone.utc)),
        }
        return await self._send(waiting.state, wire.MESSAGE_SIGNAL, entry, answer.token)

    async def _send(
        self, state: LogState, signal: str, value: dict[str, Any], token: str
    ) -> Outcome:
        workflow = self._client.get_workflow_handle(state.task.id)
        try:
            await within(_RPC_TIMEOUT, workflow.signal(signal, value, rpc_timeout=_RPC_TIMEOUT))
        except RPCError as error:
            if is_closed_workflow(error):
                raise RefusedError(
                    "The task has ended; there is nothing left to decide."
                ) from error
            raise
        return await self._outcome(state.task.id, token)

    async def _outcome(self, task_id: str, token: str) -> Outcome:
        loop = asyncio.get_running_loop()
        until = loop.time() + _DECISION_WAIT.total_seconds()
        async with self._followers.follow(task_id) as reader:
            while True:
                outcome = _outcome_in(reader.state, token)
                left = until - loop.time()
                if outcome is not None:
                    return outcome
                if left <= 0 or reader.ended:
                    return Outcome(handled=False)
                try:
                    await asyncio.wait_for(reader.changed(), left)
                except asyncio.TimeoutError:
                    return Outcome(handled=False)


def _outcome_in(state: LogState, token: str) -> Outcome | None:
    """Find what the log says of the answer with this token."""
    messages: list[Message] = [*state.task.history, state.task.status.message]
    for message in messages:
        if message.message_id == token:
            return Outcome(handled=True)
        handled, refused = handled_token(message)
        if handled == token:
            return Outcome(True, refused, None if refused else record_in(message))
    return None


def _may_see(person: Person, state: LogState) -> bool:
    asked = state.approvers
    return (
        person.operator
        or state.start.owner == person.name
        or ANYONE in asked
        or bool(asked.intersection(person.names))
    )


def _waiting_query(person: Person) -> str:
    parked = f"{wire.STATE_ATTRIBUTE} IN ('input-required', 'auth-required')"
    running = "ExecutionStatus = 'Running'"
    if person.operator:
        return f"{running} AND {parked}"
    names = ", ".join(quote(name) for name in (*person.names, ANYONE))
    mine = f"{wire.OWNER_ATTRIBUTE} = {quote(keyword(person.name))}"
    return f"{running} AND {parked} AND ({wire.APPROVERS_ATTRIBUTE} IN ({names}) OR {mine})"
