"""Decide which followers long-poll: a budget of polls, and wake-up queries for all others.

A namespace allows about 1,200 long polls for each frontend, so a process holds a bounded number. A
follower without a poll is cold: it keeps its place in the log and costs nothing. Once a second
visibility is asked whose status has changed (``changes.py``); those become hot and read on. What it
cannot tell (a working task's artifact chunks, a worker whose clock is wrong) is found by sweeping
the cold ones slowly.

Where a namespace has fewer long polls to spare than the budget (other processes hold them), the
budget shrinks to what there is, and grows again by one a second. Meanwhile logs are read without.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import is_missing_workflow, is_out_of_polls
from a2a_temporal._log.payloads import LogUnreadableError
from a2a_temporal._log.reading import NoTaskError
from a2a_temporal._log.shelf import Shelf
from a2a_temporal._server.changes import Changes
from a2a_temporal._server.errors import is_passing, is_unreadable, why_unreadable
from a2a_temporal._server.follower import UNREAD, Follower, Reader, RenderResult

logger = logging.getLogger("a2a_temporal.server")

_WAKE_INTERVAL = 1.0
_SWEEP_WORKING = 3.0
_SWEEP_PARKED = 60.0
_SWEEPS_PER_WAKE = 100
_ENGINE_STEP = 0.004
_LONGEST_HEAD_START = 0.02
_HEAD_START_SHARE = 0.6
_HEAD_START_WEIGHT = 0.1
_ADMISSION_INTERVAL = 0.1
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 3.0
_UNREADABLE_FOR = 120.0
_RESTING = 500
_RESTING_BYTES = 64 * 1024 * 1024


class Followers:
    """All followers of one process.

    A follower with readers is either hot (it has a long poll), waiting for one, or cold.

    Args:
        client: Connected client.
        agent: Identity of the agent, for the wake-up query.
        long_polls: Budget of concurrent long polls.
        render_result: Turns the result of a plain workflow into parts.
    """

    def __init__(
        self,
        client: Client,
        *,
        agent: str,
        long_polls: int,
        render_result: RenderResult | None = None,
    ) -> None:
        self._client = client
        self._agent = agent
        self._long_polls = self._budget = long_polls
        self._render_result = render_result
        self._followers: dict[str, Follower] = {}
        self._resting: Shelf[str, Follower] = Shelf(_RESTING, _RESTING_BYTES)
        self._hot: dict[Follower, asyncio.Task[None]] = {}
        self._waiting: dict[Follower, None] = {}
        self._cold: dict[Follower, float] = {}
        self._admission: asyncio.TimerHandle | None = None
        self._waker: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._head_start = 0.0

    @contextlib.asynccontextmanager
    async def follow(
        self, task_id: str, *, from_start: bool = False, run_id: str = ""
    ) -> AsyncGenerator[Reader]:
        """Follow a task's log; the reader starts at what this process has read of it.

        Args:
            task_id: The task.
            from_start: The task is new: the reader starts with its first event.
            run_id: The task's newest run. Where a follower rests in it, that one goes on.

        Raises:
            NoTaskError: The workflow is no A2A task.
            RuntimeError: This process is about to stop.
            temporalio.service.RPCError: The workflow does not exist, or cannot be read.
        """
        follower = self._followers.get(task_id)
        if follower is None or follower.finished:
            follower = self._resting.take(task_id)
            if follower is None or not follower.goes_on_from(run_id):
                follower = Follower(self._client, task_id, self._render_result)
            follower.new = from_start
            self._followers[task_id] = follower
        reader = Reader(follower, 0 if from_start else UNREAD)
        follower.readers.add(reader)
        try:
            self._heat(follower)
            while not follower.ready and not self.closing:
                await follower.changed()
            if follower.failure is not None:
                raise follower.failure
            if follower.state is None:
                raise RuntimeError("Reading logs has been stopped")
            reader.position = min(reader.position, follower.end)
            yield reader
        finally:
            follower.readers.discard(reader)
            if not follower.readers:
                self._forget(follower)

    @property
    def closing(self) -> bool:
        """True once :meth:`aclose` was called: streams end where they are."""
        return self._closing.is_set()

    async def aclose(self) -> None:
        """Stop following; readers see their logs end without a terminal event."""
        self._closing.set()
        tasks = list(self._hot.values())
        if self._waker is not None:
            tasks.append(self._waker)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for follower in list(self._followers.values()):
            follower.stop()

    def _forget(self, follower: Follower) -> None:
        if self._followers.get(follower.task_id) is follower:
            del self._followers[follower.task_id]
        self._cold.pop(follower, None)
        self._waiting.pop(follower, None)
        task = self._hot.pop(follower, None)
        if task is not None:
            task.cancel()
        self._rest(follower)
        self._admit()

    def _rest(self, follower: Follower) -> None:
        """Keep a follower at its place in its log, without readers and polls."""
        self._resting.take(follower.task_id)
        # Also one that has not read all yet: a log that is slow to read is read in several calls.
        if follower.bytes and not follower.finished:
            follower.rest()
            self._resting.put(follower.task_id, follower, follower.bytes)

    def _heat(self, follower: Follower) -> None:
        """Give a follower a poll as soon as there is one."""
        if follower in self._hot or follower in self._waiting or follower.finished:
            return
        self._cold.pop(follower, None)
        self._waiting[follower] = None
        self._admit()

    def _cool(self, follower: Follower) -> None:
        """Take a follower's poll away; it goes on from where it is once it is woken."""
        self._hot.pop(follower).cancel()
        self._cold[follower] = asyncio.get_running_loop().time()
        if self._waker is None or self._waker.done():
            self._waker = asyncio.create_task(self._wake_changed())

    def _admit(self) -> None:
        """Give polls to those who wait, taking them from the quietest beyond the budget."""
        while self._waiting and not self.closing:
            if len(self._hot) >= self._budget and not self._make_room():
                if self._admission is None:
                    loop = asyncio.get_running_loop()
                    self._admission = loop.call_later(_ADMISSION_INTERVAL, self._admit_later)
                return
            follower = next(iter(self._waiting))
            del self._waiting[follower]
            follower.heat()
            self._hot[follower] = asyncio.create_task(self._poll(follower))

    def _admit_later(self) -> None:
        self._admission = None
        self._admit()

    def _make_room(self) -> bool:
        """Cool the quietest follower that has read what it was given its poll for."""
        idle = [each for each in self._hot if each.idle]
        if not idle:
            return False
        self._cool(min(idle, key=lambda each: (not each.parked, each.quiet_since)))
        return True

    async def _poll(self, follower: Follower) -> None:
        pause = _SHORTEST_PAUSE
        loop = asyncio.get_running_loop()
        created = loop.time()
        if follower.new:
            await asyncio.sleep(self._head_start)
        while not follower.finished:
            try:
                entries = follower.entries
                await follower.poll()
                if follower.paused:
                    # Temporal lets nobody wait for what a paused workflow does next.
                    await asyncio.sleep(_LONGEST_PAUSE)
                elif follower.entries == entries:
                    # Steps of the engine come in quick succession: several make one page.
                    await asyncio.sleep(_ENGINE_STEP if follower.stepping else 0)
                elif follower.new:
                    self._learn_head_start(loop.time() - created)
                    follower.new = False
                pause = _SHORTEST_PAUSE
                follower.unreadable_since = None
                self._admit()
            except Exception as error:  # a reader must learn of any failure, or it waits for ever
                failure = await self._without_poll(follower) if is_out_of_polls(error) else error
                if failure is None or self._goes_on(failure, follower):
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
                else:
                    follower.fail(failure)
        self._hot.pop(follower, None)
        self._admit()

    async def _without_poll(self, follower: Follower) -> Exception | None:
        """Read on without a long poll, and hold fewer from now on; returns what failed."""
        self._budget = max(1, min(self._budget, len(self._hot) - 1))
        try:
            await follower.glance()
            follower.unreadable_since = None
        except Exception as error:  # decided on as one of a poll is
            return error
        if len(self._hot) > self._budget:
            self._make_room()
        return None

    def _learn_head_start(self, first_entry: float) -> None:
        """Note how many seconds a new task took until its first entry.

        Polled at once, the log of a new task holds nothing yet, and the polls of many compete with
        their creation. A part of what the tasks before took makes no answer later.
        """
        found = min(first_entry * _HEAD_START_SHARE, _LONGEST_HEAD_START)
        self._head_start += _HEAD_START_WEIGHT * (found - self._head_start)

    def _goes_on(self, error: Exception, follower: Follower) -> bool:
        """Say whether a follower whose poll failed tries again after a pause."""
        if isinstance(error, NoTaskError):
            return False
        if isinstance(error, RPCError):
            if error.status == RPCStatusCode.INVALID_ARGUMENT and follower.restart():
                return True
            if error.status == RPCStatusCode.RESOURCE_EXHAUSTED:
                logger.debug("Temporal holds up the reading of task %s", follower.task_id)
                return True
            if is_missing_workflow(error):
                return False
        if not is_passing(error) or self._stays_unreadable(error, follower):
            logger.error("Reading task %s failed", follower.task_id, exc_info=error)
            return False
        logger.debug("Reading task %s is interrupted: %s", follower.task_id, error)
        return follower.ready

    def _stays_unreadable(self, error: Exception, follower: Follower) -> bool:
        """Say whether what a follower has come to could not be decoded here for long enough.

        A storage may lag behind the log that refers to it; a key that is missing stays missing. An
        outage of the storage passes, as one of Temporal does.
        """
        if not isinstance(error, LogUnreadableError):
            return False
        now = asyncio.get_running_loop().time()
        if follower.unreadable_since is None:
            follower.unreadable_since = now
            logger.warning(
                "Task %s cannot be read here now: %s", follower.task_id, why_unreadable(error)
            )
        return is_unreadable(error) and now - follower.unreadable_since >= _UNREADABLE_FOR

    async def _wake_changed(self) -> None:
        """While followers are cold: heat those whose task has changed, and sweep the others."""
        changes = Changes(self._client, self._agent)
        failing = False
        while self._cold:
            await asyncio.sleep(_WAKE_INTERVAL)
            self._budget = min(self._budget + 1, self._long_polls)
            try:
                changed = await changes.among([follower.task_id for follower in self._cold])
            except Exception as error:  # without the query, sweeping still wakes everybody
                log = logger.debug if failing or is_passing(error) else logger.error
                log("Streams are woken slowly, for the query that wakes them failed: %s", error)
                failing = failing or not is_passing(error)
                self._sweep(without_query=True)
                continue
            failing = False
            for task_id, status in changed.items():
                follower = self._followers.get(task_id)
                if follower in self._cold and status != follower.indexed:
                    self._heat(follower)
            self._sweep(without_query=False)

    def _sweep(self, *, without_query: bool) -> None:
        now = asyncio.get_running_loop().time()
        most = min(_SWEEPS_PER_WAKE, self._budget) - len(self._waiting)
        due: list[Follower] = []
        for follower, since in self._cold.items():
            if len(due) >= most:
                break
            parked = follower.parked and not without_query
            if now - since >= (_SWEEP_PARKED if parked else _SWEEP_WORKING):
                due.append(follower)
        for follower in due:
            self._heat(follower)
