"""How a client talks to a fleet that breaks: bounded calls, sent again until they are answered."""

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import httpx
from temporalio.service import RPCError

from tests.chaos.fleet import Fleet
from tests.chaos.following import Following
from tests.chaos.journal import Journal, Refusal, Said
from tests.support.calls import BINDINGS, Caller
from tests.support.results import CallError, Json, is_terminal, state

T = TypeVar("T")

HANGS_AFTER = 45.0
"""Longer than any fault lasts, any bound of the server, and any pause of this machine."""

RETRYABLE = -32603
ENDED = -32004

SETTLE_WITHIN = 150.0


class RefusedError(Exception):
    """The server has refused for good."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


class Client:
    """One client: it keeps at everything until it has an answer.

    Args:
        name: Names its messages and contexts.
        seed: Its share of the seed.
        fleet: Whom it talks to.
        journal: Takes what it does and sees.

    Attributes:
        luck: Draws what it does. Drawn from in the order of a story alone, so that a seed makes the
            same story again.
        jitter: Draws how it does it: pauses, replicas, bindings. How often depends on the answers.
    """

    def __init__(self, name: str, *, seed: str, fleet: Fleet, journal: Journal) -> None:
        self.name = name
        self.luck = random.Random(seed)
        self.jitter = random.Random(f"{seed}/jitter")
        self.fleet = fleet
        self.journal = journal
        self._ids = 0

    def new_id(self) -> str:
        """Return an id that nobody else uses in this run."""
        self._ids += 1
        return f"{self.name}-{self._ids}"

    def caller(self, agent: str = "") -> Caller:
        """Return any replica over any binding."""
        caller = self.jitter.choice(self.fleet.callers())
        binding = self.jitter.choice(BINDINGS)
        return Caller(http=caller.http, url=caller.url + agent, binding=binding)

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    # ------------------------------------------------------------------ calls

    async def ask(
        self,
        what: str,
        call: Callable[[Caller], Awaitable[T]],
        *,
        agent: str = "",
    ) -> T:
        """Make a call again and again until it is answered or refused for good.

        Args:
            what: Names the call in the journal.
            call: Makes it.
            agent: Path of the agent.

        Raises:
            RefusedError: It was refused for good.
        """
        while True:
            try:
                return await self._once(what, call(self.caller(agent)))
            except (httpx.HTTPError, asyncio.TimeoutError) as error:
                self.journal.counts[f"{what}: {_kind(error)}"] += 1
            except CallError as error:
                self.refused(what, error)
                if error.code not in (RETRYABLE, 0):
                    raise RefusedError(error.code) from error
            await self.wait(self.jitter.uniform(0.05, 0.6))

    async def _once(self, what: str, call: Awaitable[T]) -> T:
        begun = time.monotonic()
        try:
            answer = await asyncio.wait_for(call, HANGS_AFTER)
        except asyncio.TimeoutError:
            if time.monotonic() - begun >= HANGS_AFTER:
                self.journal.complain(f"{what} was not answered within {HANGS_AFTER} s")
            raise
        self.journal.counts[f"{what}: answered"] += 1
        if time.monotonic() - begun > 15:
            self.journal.counts["answered after more than 15 s"] += 1
        return answer

    def refused(self, what: str, error: CallError) -> None:
        """Note an error answer."""
        self.journal.counts[f"{what}: {error.code or f'HTTP {error.status}'}"] += 1
        self.journal.refusals.append(
            Refusal(call=what, code=error.code, status=error.status, body=error.body)
        )

    # --------------------------------------------------------------- messages

    def message(
        self,
        text: str,
        *,
        task_id: str = "",
        effects: Sequence[str] = (),
        forbidden: Sequence[str] = (),
    ) -> Said:
        """Write a message, to be said once or several times."""
        said = Said(
            message_id=f"{self.new_id()}-{uuid.uuid4().hex[:6]}",
            text=text,
            task_id=task_id,
            effects=tuple(effects),
            forbidden=tuple(forbidden),
        )
        self.journal.said.append(said)
        return said

    async def say(
        self,
        said: Said,
        *,
        agent: str = "",
        context_id: str | None = None,
        configuration: Json | None = None,
        twice: bool | None = None,
    ) -> Json:
        """Send a message until it is acknowledged, perhaps at two replicas at once.

        Raises:
            RefusedError: It was refused for good, as one to a task that has ended.
        """
        twice = self.luck.random() < 0.2 if twice is None else twice
        sending = [
            self._say(said, agent, context_id, configuration) for _ in range(2 if twice else 1)
        ]
        answers = await asyncio.gather(*sending, return_exceptions=True)
        tasks = [answer for answer in answers if isinstance(answer, dict)]
        for answer in answers:
            if isinstance(answer, RefusedError):
                said.refused = answer.code
            if isinstance(answer, BaseException) and not (
                tasks and isinstance(answer, RefusedError)
            ):
                raise answer
        return tasks[-1]

    async def _say(
        self, said: Said, agent: str, context_id: str | None, configuration: Json | None
    ) -> Json:
        options: Json = {
            "message_id": said.message_id,
            "task_id": said.task_id or None,
            "context_id": context_id,
            "configuration": configuration,
        }
        asked = 0.0

        async def send(caller: Caller) -> Json:
            nonlocal asked
            asked = time.time()
            if self.jitter.random() < 0.6:
                return await caller.start(said.text, **options)
            # A client that waits for an answer does so for a while only.
            return await asyncio.wait_for(
                caller.send_task(said.text, **options), self.jitter.uniform(1, 12)
            )

        task = await self.ask("send", send, agent=agent)
        said.acknowledged.add(str(task["id"]))
        self.journal.saw(task, asked=asked, source="send")
        return task

    # ----------------------------------------------------------------- others

    async def get(self, task_id: str, *, agent: str = "") -> Json:
        """GetTask."""
        asked = 0.0

        async def get(caller: Caller) -> Json:
            nonlocal asked
            asked = time.time()
            return await caller.get(task_id)

        task = await self.ask("get", get, agent=agent)
        self.journal.saw(task, asked=asked, source="get")
        return task

    async def cancel(self, task_id: str, *, agent: str = "") -> Json | None:
        """CancelTask; None when it could not be canceled, or not any more."""
        asked = 0.0

        async def cancel(caller: Caller) -> Json:
            nonlocal asked
            asked = time.time()
            return await caller.cancel(task_id)

        try:
            task = await self.ask("cancel", cancel, agent=agent)
        except RefusedError as refused:
            if refused.code != -32002:
                self.journal.complain(f"cancel of {task_id} was refused with {refused.code}")
            return None
        self.journal.saw(task, asked=asked, source="cancel")
        return task

    async def listed(self, context_id: str, *, agent: str = "") -> set[str]:
        """ListTasks of a context, every page; the ids."""
        found: set[str] = set()
        token = ""
        while True:
            asked = time.time()
            params: Json = {"contextId": context_id, "pageSize": 10}
            if token:
                params["pageToken"] = token

            async def page(caller: Caller, params: Json = params) -> Json:
                return await caller.list(**params)

            answer = await self.ask("list", page, agent=agent)
            for task in answer.get("tasks", []):
                self.journal.saw(task, asked=asked, source="list")
                found.add(task["id"])
            token = answer.get("nextPageToken", "")
            if not token:
                return found

    async def finished(self, task_id: str, *, agent: str = "", parked: bool = False) -> Json:
        """Poll a task until it has ended, or is parked where that is an end."""
        return await self.until(
            task_id,
            lambda task: is_terminal(state(task)) or (parked and is_parked(task)),
            agent=agent,
        )

    async def until(
        self, task_id: str, reached: Callable[[Json], bool], *, agent: str = ""
    ) -> Json:
        """Poll a task until it has reached a point."""
        deadline = time.monotonic() + SETTLE_WITHIN
        while True:
            task = await self.get(task_id, agent=agent)
            if reached(task):
                return task
            if time.monotonic() > deadline:
                raise AssertionError(f"task {task_id} got no further: {task}")
            await self.wait(self.jitter.uniform(0.2, 1.2))

    def follow(self, task_id: str = "", *, agent: str = "", said: Said | None = None) -> Following:
        """Keep a stream of a task, from now or with the message that makes it."""
        return Following(
            callers=lambda: self.caller(agent),
            luck=random.Random(self.luck.random()),
            journal=self.journal,
            task_id=task_id,
            said=said,
        )

    async def as_operator(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        """Do something at Temporal itself, again until it is done."""
        while True:
            try:
                answer = await asyncio.wait_for(call(), HANGS_AFTER)
            except (RPCError, RuntimeError, OSError, asyncio.TimeoutError) as error:
                self.journal.counts[f"{what}: {_kind(error)}"] += 1
                if isinstance(error, RPCError) and "already completed" in error.message:
                    raise RefusedError(ENDED) from error
                await asyncio.sleep(0.5)
            else:
                self.journal.counts[f"{what}: answered"] += 1
                return answer


def is_parked(task: Json) -> bool:
    """Say whether a task waits for somebody."""
    return state(task) in ("INPUT_REQUIRED", "AUTH_REQUIRED")


def _kind(error: BaseException) -> str:
    if isinstance(error, asyncio.TimeoutError):
        return "client gave up"
    return type(error).__name__
