"""What waits for people, across all agents of a namespace, and their answers.

The inbox and the command line are built on this. Tasks are found through search attributes; what is
asked is read from the task's log; an answer is the signal ``a2a_decision``, durable once sent.
"""

import asyncio
import contextlib
import hashlib
import logging
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from temporalio.api.workflowservice.v1 import (
    ListWorkflowExecutionsRequest,
    ListWorkflowExecutionsResponse,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import (
    CALL_TIMEOUT,
    Gateway,
    is_closed_workflow,
    is_missing_workflow,
    with_deadline,
)
from a2a_temporal._log import wire
from a2a_temporal._log.answers import Answer, RefusedError, check_entitled, find
from a2a_temporal._log.entries import now_text
from a2a_temporal._log.published import agent_messages, published
from a2a_temporal._log.requests import Record
from a2a_temporal._log.state import LogState
from a2a_temporal._reading.cache import Logs
from a2a_temporal._reading.decode import LogUnreadableError
from a2a_temporal._reading.reader import NoTaskError
from a2a_temporal._server.errors import FULL, is_unreadable, why_unreadable
from a2a_temporal._server.feeds import Feeds
from a2a_temporal._server.records import (
    PASSING,
    UnreadableTaskError,
    exported_records,
    runs_of,
    unreadable_because,
)
from a2a_temporal._server.waiting import (
    Person,
    Tail,
    View,
    Waiting,
    check_asked,
    read_waiting,
    waiting_query,
)

logger = logging.getLogger("a2a_temporal.server")


_DECISION_WAIT = timedelta(seconds=5)
# Logs read at once: a page is quick, and a process with many viewers stays small.
_CONCURRENT_READS = 8
_RECORDS_CHUNK = 64
# What stores say of a page token they did not make.
_BAD_TOKEN = (RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.INTERNAL, RPCStatusCode.UNKNOWN)

ENDED = "The task has ended; there is nothing left to decide."
ASKS_NOTHING = (
    "This task is a workflow that knows nothing of A2A, so what it waits for is not known "
    "here. Answer it with a message to its agent, or with a signal of its own."
)


class UnknownTaskError(LookupError):
    """There is no such task for this person."""


class BadPageError(ValueError):
    """The page token is not one that :meth:`Approvals.waiting` gave out."""


@dataclass(frozen=True)
class Page:
    """Some of the tasks that wait; ``next_token`` is empty on the last page.

    ``version`` is what :meth:`Approvals.version` returns while nothing changes; ``unreadable`` says
    which tasks are left out because they cannot be read here, and why.
    """

    tasks: list[Waiting] = field(default_factory=list[Waiting])
    next_token: bytes = b""
    version: str = ""
    unreadable: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Outcome:
    """What became of an answer.

    ``handled`` is False while no worker has looked at it: it is stored and will be. ``refused``
    says why it did not count; ``record`` is the audit record when it did. ``token`` finds the
    outcome again.
    """

    handled: bool
    refused: str = ""
    record: Record | None = None
    token: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain JSON."""
        return {**vars(self), "record": self.record and self.record.to_json()}


class Approvals:
    """The tasks of a namespace that wait for people.

    Args:
        client: Connected client.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._temporal = Gateway(client)
        self._logs = Logs(client, watching=Tail)
        self._feeds = Feeds(client, self._logs, agent="", long_polls=100)
        self._reads = asyncio.Semaphore(_CONCURRENT_READS)

    @property
    def client(self) -> Client:
        """The client it was made with."""
        return self._client

    async def aclose(self) -> None:
        """Stop following."""
        await self._feeds.aclose()

    async def waiting(
        self, person: Person, *, view: View = "decide", size: int = 25, token: bytes = b""
    ) -> Page:
        """Return the tasks that this person may decide or answer, newest first within a page.

        A task that moved on while the page was read is left out, so a page may be short. One that
        cannot be read here is named instead.

        Args:
            person: Who looks.
            view: ``asked`` for the tasks they made themselves, which wait for anybody.
            size: Tasks a page.
            token: Where the previous page ended.

        Raises:
            BadPageError: The token is none of ours.
            temporalio.service.RPCError: Temporal did not answer.
        """
        page = await self._list(person, view, size, token)
        ids = [each.execution.workflow_id for each in page.executions]
        found, unreadable = await self._read_all(person, ids)
        tasks = [task for task in found if task.state.interrupted or task.requests]
        return Page(tasks, page.next_page_token, _version_of(page), unreadable)

    async def version(
        self, person: Person, *, view: View = "decide", size: int = 25, token: bytes = b""
    ) -> str:
        """Return a text that changes when the page does; one query, no log is read.

        Raises:
            BadPageError: The token is none of ours.
            temporalio.service.RPCError: Temporal did not answer.
        """
        return _version_of(await self._list(person, view, size, token))

    async def count(self, person: Person, *, view: View = "decide") -> int:
        """Return how many tasks wait for this person.

        Raises:
            temporalio.service.RPCError: Temporal did not answer.
        """
        return await self._temporal.count(waiting_query(person, view))

    async def task(self, person: Person, task_id: str) -> Waiting:
        """Return one task, whether it waits or not.

        Raises:
            UnknownTaskError: There is no such task for this person.
            UnreadableTaskError: The key or the storage of the task is not here.
            temporalio.service.RPCError: Temporal did not answer.
        """
        waiting = await self._read(task_id)
        if not person.may_see(waiting.state):
            raise UnknownTaskError(task_id)
        decides = person.decides_all(waiting.state)
        # What others are asked is theirs to see as well; once nothing is open, what was decided.
        return (
            waiting
            if decides or person.is_asked(waiting.state)
            else replace(waiting, requests=[], past=True)
        )

    async def _read(self, task_id: str) -> Waiting:
        """Read a task for everybody; raises what :meth:`task` does."""
        try:
            async with self._reads:
                return await read_waiting(self._logs, task_id)
        except NoTaskError as error:
            raise UnknownTaskError(task_id) from error
        except RPCError as error:
            if is_missing_workflow(error) or error.status == RPCStatusCode.INVALID_ARGUMENT:
                raise UnknownTaskError(task_id) from error
            raise
        except LogUnreadableError as error:
            if is_unreadable(error):
                raise UnreadableTaskError(task_id) from why_unreadable(error)
            raise

    async def decide(self, person: Person, waiting: Waiting, answer: Answer) -> Outcome:
        """Send an answer and wait a moment for the workflow to say whether it counts.

        Args:
            person: Who answers.
            waiting: The task, as :meth:`task` has just returned it to that person.
            answer: The answer; its ``token``, if given, makes sending it again harmless.

        Raises:
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
        earlier = outcome_in(waiting.state, answer.token)
        if earlier is not None:
            return earlier
        if waiting.state.terminal:
            raise RefusedError(ENDED)
        if waiting.requests:
            request = find(waiting.requests, answer)
            check_asked(person, request, waiting.state)
            if answer.decision != "comment":
                check_entitled(request, answer)
            answer = replace(answer, request=request.id)
        elif waiting.state.start.plain:
            raise RefusedError(ASKS_NOTHING)
        elif waiting.past:
            raise RefusedError("Nothing waits for you in this task any more.")
        elif answer.decision == "answer":
            return await self._answer_agent(person, waiting, answer)
        else:
            raise RefusedError("Nothing waits for an approval in this task.")
        return await self._send(waiting.state, wire.DECISION_SIGNAL, answer.to_json(), answer.token)

    async def records(
        self, query: str = "", *, unreadable: dict[str, str] | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield every audit record there is, task by task, as plain JSON.

        Records that only a run holds which a reset has replaced are ``superseded``.

        Args:
            query: A visibility query that narrows the tasks down.
            unreadable: Gets the ids of tasks of which records are missing, and why.
        """
        condition = f"{wire.AGENT_ATTRIBUTE} IS NOT NULL"
        left_out = {} if unreadable is None else unreadable
        ids: list[str] = []
        narrowed = f"({query}) AND {condition}" if query else condition
        async for found in self._temporal.executions(narrowed):
            ids.append(found.execution.workflow_id)
            if len(ids) == _RECORDS_CHUNK:
                for record in await self._records_of(ids, left_out):
                    yield record
                ids = []
        for record in await self._records_of(ids, left_out):
            yield record

    async def _list(
        self, person: Person, view: View, size: int, token: bytes
    ) -> ListWorkflowExecutionsResponse:
        request = ListWorkflowExecutionsRequest(
            namespace=self._client.namespace,
            page_size=size,
            next_page_token=token,
            query=waiting_query(person, view),
        )
        rpc = self._client.workflow_service.list_workflow_executions
        try:
            # A token that is none fails with a status that is retried elsewhere.
            return await self._temporal.call(rpc, request, retry=False)
        except RPCError as error:
            if token and error.status in _BAD_TOKEN:
                raise BadPageError("That page does not exist.") from error
            raise

    async def _read_all(
        self, person: Person, task_ids: Sequence[str]
    ) -> tuple[list[Waiting], dict[str, str]]:
        """Return the tasks there are for a person, and why others of them cannot be read."""
        unreadable: dict[str, str] = {}

        async def read(task_id: str) -> Waiting | None:
            try:
                return await self.task(person, task_id)
            except UnknownTaskError:
                # Visibility has named it: whom it asks may be what cannot be read.
                if await self._asks_unreadably(task_id):
                    unreadable[task_id] = "What it asks cannot be read."
                return None
            except (*PASSING, LogUnreadableError):
                raise
            except Exception as error:  # the other tasks must not be lost to people with this one
                unreadable[task_id] = unreadable_because(task_id, error)
                return None

        found = await asyncio.gather(*(read(task_id) for task_id in task_ids))
        return [task for task in found if task is not None], unreadable

    async def _asks_unreadably(self, task_id: str) -> bool:
        try:
            return bool((await self._read(task_id)).problems)
        except UnknownTaskError:
            return False

    async def _records_of(
        self, task_ids: list[str], unreadable: dict[str, str]
    ) -> list[dict[str, Any]]:
        operator = Person("", operator=True)
        ids = list(dict.fromkeys(task_ids))
        found, left_out = await self._read_all(operator, ids)
        unreadable.update(left_out)
        runs = await runs_of(self._client, ids)
        return [
            record
            for task in found
            for record in await exported_records(
                self._client, task, runs.get(task.task_id, []), unreadable
            )
        ]

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
                **({} if person.decides_all(waiting.state) else {"guest": True}),
            },
            "at": now_text(datetime.now(timezone.utc)),
        }
        return await self._send(waiting.state, wire.MESSAGE_SIGNAL, entry, answer.token)

    async def _send(
        self, state: LogState, signal: str, value: dict[str, Any], token: str
    ) -> Outcome:
        try:
            await self._temporal.signal(state.task.id, signal, [value])
        except RPCError as error:
            if is_closed_workflow(error):
                raise RefusedError(ENDED) from error
            if wire.OUT_OF_SIGNALS in error.message:
                raise RefusedError(FULL) from error
            raise
        try:
            return await self._outcome(state, token)
        except (RPCError, RuntimeError, OSError, asyncio.TimeoutError, NoTaskError):
            # Stored it is, whatever keeps us from seeing what came of it.
            return Outcome(handled=False, token=token)

    async def _outcome(self, state: LogState, token: str) -> Outcome:
        with contextlib.suppress(asyncio.TimeoutError):
            outcome = await with_deadline(_DECISION_WAIT, self._followed(state, token))
            if outcome is not None:
                return outcome
        # A follower that ran cold may lag behind: look once more.
        state = await with_deadline(CALL_TIMEOUT, self._logs.state(state.task.id))
        return outcome_in(state, token) or not_counted(state, token)

    async def _followed(self, state: LogState, token: str) -> Outcome | None:
        """Follow a task until its log says what became of an answer, or ends without it."""
        async with self._feeds.follow(state.task.id) as reader:
            while True:
                outcome = outcome_in(reader.state, token)
                if outcome is not None or reader.ended:
                    return outcome
                await reader.changed()


def _version_of(page: ListWorkflowExecutionsResponse) -> str:
    digest = hashlib.sha256()
    for execution in page.executions:
        updated = execution.search_attributes.indexed_fields.get(wire.UPDATED_ATTRIBUTE)
        digest.update(execution.execution.run_id.encode())
        digest.update(updated.data if updated is not None else b"")
    return digest.hexdigest()[:16]


def not_counted(state: LogState, token: str) -> Outcome:
    """Return the outcome of a stored answer that the log does not mention (yet)."""
    if state.terminal:
        return Outcome(True, "The task had ended before this answer was looked at.", None, token)
    return Outcome(handled=False, token=token)


def outcome_in(state: LogState, token: str) -> Outcome | None:
    """Find what the log says of the answer with this token."""
    if token in state.accepted:
        return Outcome(handled=True, token=token)
    for message in agent_messages(state):
        report = published(message)
        if report.token and report.token == token:
            return Outcome(True, report.refused, None if report.refused else report.record, token)
    return None
