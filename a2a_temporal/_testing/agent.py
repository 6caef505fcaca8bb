"""An agent under test: API, worker and official client in this process, on a real Temporal."""

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import httpx
from a2a.server.agent_execution import AgentExecutor
from a2a.types import Message, Task
from temporalio.client import Client, WorkflowHandle
from temporalio.testing import TimeSkipper
from temporalio.worker import Worker

from a2a_temporal._agent import Agent
from a2a_temporal._log.answers import Answer, AnswerKind, RefusedError
from a2a_temporal._log.published import agent_messages, published, requests_in
from a2a_temporal._log.requests import OpenRequest, Record
from a2a_temporal._log.state import LogState, state_name
from a2a_temporal._reading.reader import read_log
from a2a_temporal._server.approvals import Approvals, Outcome
from a2a_temporal._server.handler import TemporalRequestHandler
from a2a_temporal._server.plain import PlainWorkflow
from a2a_temporal._server.waiting import Person
from a2a_temporal._testing.callers import believing, headers_of, middleware
from a2a_temporal._testing.cards import URL, card_of, served
from a2a_temporal._testing.replaying import replay_all
from a2a_temporal._testing.transport import StreamingTransport
from a2a_temporal._testing.user import User, id_of
from a2a_temporal._worker.task.parts import Content, text_of

_PATIENCE = 20.0
_HTTP_TIMEOUT = 60.0
_POLL_SECONDS = 0.03
_PAST_THE_DEADLINE = timedelta(seconds=1)


class RunningAgent:
    """What :func:`running_agent` yields.

    Attributes:
        agent: The agent.
        temporal: The Temporal client.
        handler: The request handler.
        task_queue: The agent's task queue; no other test shares it.
        user: The user that :meth:`send` speaks for; see :meth:`as_user` for others.
    """

    def __init__(
        self,
        temporal: Client,
        agent: Agent,
        *,
        user: str,
        max_cached_workflows: int,
    ) -> None:
        self.agent = agent
        self.temporal: Client = agent.client(temporal)
        self.task_queue: str = f"test-{uuid.uuid4().hex[:12]}"
        self._card = served(agent.card)
        self.handler: TemporalRequestHandler = agent.handler(
            self.temporal,
            task_queue=self.task_queue,
            card=self._card,
            options=believing(agent.handler_options),
        )
        self._transport = StreamingTransport(agent.app(self.handler, middleware=[middleware()]))
        self._max_cached_workflows = max_cached_workflows
        self._approvals = Approvals(self.temporal)
        self._skipper = TimeSkipper(self.temporal)
        self._worker: Worker | None = None
        self._working: asyncio.Task[None] | None = None
        self._users: list[User] = []
        self.user: User = self.as_user(user)

    def as_user(self, name: str, *, groups: Iterable[str] = ()) -> User:
        """Return a user of the agent, authenticated under a name; empty for an anonymous one."""
        http = httpx.AsyncClient(
            transport=self._transport,
            base_url=URL,
            headers=headers_of(name, groups),
            timeout=_HTTP_TIMEOUT,
        )
        user = User(http, self._card, name=name)
        self._users.append(user)
        return user

    def workflow(self, task: Task | str) -> WorkflowHandle[Any, Any]:
        """Return the workflow of a task, as an operator would signal or cancel it."""
        return self.temporal.get_workflow_handle(id_of(task))

    # ------------------------------------------------------------------ talk

    async def send(
        self, content: Content | Message, *, task: Task | str | None = None, wait: bool = True
    ) -> Task:
        """Send a message as :attr:`user`; see :meth:`User.send`."""
        return await self.user.send(content, task=task, wait=wait)

    async def approve(
        self,
        task: Task | str,
        *,
        by: str,
        groups: Iterable[str] = (),
        comment: str = "",
        details: Any = None,
        request: str = "",
        token: str = "",
    ) -> Outcome:
        """Approve an open request, as the inbox would for an authenticated person.

        Args:
            task: The task.
            by: Who approves.
            groups: Their groups.
            comment: Kept in the record.
            details: Changed details; None approves what was asked.
            request: Which request; needless when one is open.
            token: Makes a repeated answer count once; a fresh one by default.

        Raises:
            RefusedError: The answer does not count; the text says why.
        """
        person = Person(by, tuple(groups), verified=True, operator=True)
        answer = Answer(
            "approve",
            request=request,
            comment=comment,
            details=details,
            token=token,
            channel="inbox",
        )
        return await self._decide(task, person, answer)

    async def reject(
        self,
        task: Task | str,
        *,
        by: str,
        groups: Iterable[str] = (),
        comment: str = "",
        request: str = "",
    ) -> Outcome:
        """Reject an open request; see :meth:`approve`."""
        person = Person(by, tuple(groups), verified=True, operator=True)
        return await self._decide(task, person, _answer("reject", request, comment=comment))

    async def answer(
        self,
        task: Task | str,
        answer: Any,
        *,
        by: str = "somebody",
        groups: Iterable[str] = (),
        request: str = "",
    ) -> Outcome:
        """Answer an open question; see :meth:`approve`."""
        person = Person(by, tuple(groups), verified=True, operator=True)
        return await self._decide(task, person, _answer("answer", request, answer=answer))

    # ------------------------------------------------------------------ time

    async def skip(self, task: Task | str, duration: timedelta) -> None:
        """Let time pass for one task: its timers fire, and nobody waits.

        Raises:
            temporalio.service.RPCError: The server cannot skip time. :func:`temporal_server` can.
        """
        await self._skipper.fast_forward(self.workflow(task), duration)

    async def expire(self, task: Task | str, *, request: str = "") -> Task:
        """Let the deadline of an open request pass; returns the task when it has reacted.

        Args:
            task: The task.
            request: Which request; the one that runs out first by default.

        Raises:
            LookupError: No open request has a deadline.
        """
        due = [
            each for each in await self.requests(task) if each.deadline and request in ("", each.id)
        ]
        if not due:
            raise LookupError(f"No open request of task {id_of(task)} has a deadline.")
        first = min(due, key=lambda each: each.deadline)
        now = await self._skipper.get_current_time(self.workflow(task))
        deadline = datetime.fromisoformat(first.deadline.replace("Z", "+00:00"))
        await self.skip(task, max(deadline - now, timedelta(0)) + _PAST_THE_DEADLINE)
        state = await self._until(
            task,
            lambda state: all(
                (each.id, each.deadline) != (first.id, first.deadline)
                for each in requests_in(state)
            ),
            "the deadline",
        )
        return state.copy_task()

    # ------------------------------------------------------------------ look

    async def state(self, task: Task | str) -> LogState:
        """Return all that the task's log says now."""
        return await read_log(self.temporal, id_of(task))

    async def requests(self, task: Task | str) -> list[OpenRequest]:
        """Return the requests that are open now."""
        return requests_in(await self.state(task))

    async def records(self, task: Task | str) -> list[Record]:
        """Return the audit records of a task, in order."""
        found = [published(message).record for message in agent_messages(await self.state(task))]
        return [record for record in found if record is not None]

    async def until(self, task: Task | str, *states: str, within: float = _PATIENCE) -> Task:
        """Wait until a task is in one of some states, such as ``input-required``.

        Raises:
            AssertionError: It was not in time; says what it was.
        """
        found = await self._until(
            task,
            lambda state: state_name(state.task.status.state) in states,
            " or ".join(states),
            within=within,
        )
        return found.copy_task()

    async def settled(self, task: Task | str, *, within: float = _PATIENCE) -> Task:
        """Wait until a task has ended or asks for something.

        Raises:
            AssertionError: It did not in time; says what it was.
        """
        found = await self._until(
            task,
            lambda state: state.terminal or state.interrupted,
            "a state that ends or interrupts it",
            within=within,
        )
        return found.copy_task()

    async def told(self, task: Task | str, text: str, *, within: float = _PATIENCE) -> Message:
        """Wait until the agent has said something that holds a text; returns that message.

        Raises:
            AssertionError: It has not in time; says what it is in the end.
        """
        found: list[Message] = []

        def look(state: LogState) -> bool:
            said = [*state.task.history, state.task.status.message]
            found[:] = [each for each in said if text in text_of(each)]
            return bool(found)

        await self._until(task, look, repr(text), within=within)
        return found[-1]

    async def replay(self) -> None:
        """Replay the history of every task of this agent.

        Raises:
            AssertionError: One is not deterministic; names each that failed.
        """
        # Visibility lags: a task is replayed when it can be found.
        replayer = self.agent.replayer(self.temporal)
        failures = await replay_all(replayer, self.temporal, self.task_queue)
        assert not failures, f"not deterministic: {failures}"

    # ---------------------------------------------------------------- workers

    async def start_worker(self) -> None:
        """Start a worker: a fresh one, which knows nothing but what Temporal tells it."""
        self._worker = self.agent.worker(
            self.temporal,
            task_queue=self.task_queue,
            max_cached_workflows=self._max_cached_workflows,
        )
        self._working = asyncio.create_task(self._worker.run())

    async def stop_worker(self) -> None:
        """Stop the worker; tasks wait for the next one."""
        if self._worker is not None and self._working is not None:
            await self._worker.shutdown()
            await self._working
        self._worker = self._working = None

    # ---------------------------------------------------------------- helpers

    async def aclose(self) -> None:
        """Stop everything that runs in this process."""
        for user in self._users:
            await user.aclose()
        await self._approvals.aclose()
        await self.handler.aclose()
        await self.stop_worker()

    async def _decide(self, task: Task | str, person: Person, answer: Answer) -> Outcome:
        waiting = await self._approvals.task(person, id_of(task))
        outcome = await self._approvals.decide(person, waiting, answer)
        if outcome.refused:
            raise RefusedError(outcome.refused)
        return outcome

    async def _until(
        self,
        task: Task | str,
        fits: Callable[[LogState], bool],
        what: str,
        *,
        within: float = _PATIENCE,
    ) -> LogState:
        until = time.monotonic() + within
        while True:
            state = await self.state(task)
            if fits(state):
                return state
            if time.monotonic() > until:
                seen = f"{state_name(state.task.status.state)}: {state.task.status.message}"
                raise AssertionError(f"{what} did not come within {within} s; the task is {seen}")
            await asyncio.sleep(_POLL_SECONDS)


@contextlib.asynccontextmanager
async def running_agent(
    temporal: Client,
    agent: Agent | AgentExecutor | type[Any] | PlainWorkflow,
    *,
    user: str = "requester",
    worker: bool = True,
    max_cached_workflows: int = 1000,
) -> AsyncGenerator[RunningAgent]:
    """Run an agent in this process, on a task queue of its own, with a client connected.

    Args:
        temporal: The Temporal to run on; see :func:`temporal_server`.
        agent: The agent, or just the workflow or the executor that is one.
        user: Whose tasks they are; empty for the anonymous user.
        worker: Start a worker; without one, tasks wait for ``start_worker()``.
        max_cached_workflows: 0 makes the worker replay a workflow from its history at every step,
            which finds code that is not deterministic.
    """
    running = RunningAgent(
        temporal,
        _agent_of(agent),
        user=user,
        max_cached_workflows=max_cached_workflows,
    )
    await running.handler.start()
    if worker:
        await running.start_worker()
    try:
        yield running
    finally:
        await running.aclose()


def _agent_of(agent: Agent | AgentExecutor | type[Any] | PlainWorkflow) -> Agent:
    if isinstance(agent, Agent):
        return agent
    if isinstance(agent, type) and issubclass(agent, AgentExecutor):
        raise TypeError(
            f"running_agent() takes an executor, not its class: write {agent.__name__}(...)."
        )
    if isinstance(agent, AgentExecutor):
        return Agent(card=card_of(type(agent)), executor=agent)
    return Agent(card=card_of(agent), workflow=agent)


def _answer(decision: AnswerKind, request: str, *, comment: str = "", answer: Any = None) -> Answer:
    return Answer(decision, request=request, comment=comment, answer=answer, channel="inbox")
