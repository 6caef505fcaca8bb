"""Decide which feeds long-poll: a budget of polls, and wake-up queries for all others.

A namespace allows about 1,200 long polls for each frontend, so a process holds a bounded number. A
feed without a poll is idle: it keeps its place in the log and costs nothing. Once a second
visibility is asked whose status has changed (``changes.py``); those poll again. What it cannot tell
(a working task's artifact chunks, a worker whose clock is wrong) is found by letting the idle ones
poll now and then.

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
from a2a_temporal._reading.cache import Logs
from a2a_temporal._reading.decode import LogUnreadableError
from a2a_temporal._reading.reader import NoTaskError
from a2a_temporal._server.changes import Changes
from a2a_temporal._server.errors import is_passing, is_unreadable, why_unreadable
from a2a_temporal._server.feed import UNREAD, Feed, Subscription

logger = logging.getLogger("a2a_temporal.server")

_WAKE_INTERVAL = 1.0
_IDLE_WORKING = 3.0
_IDLE_INTERRUPTED = 60.0
_SWEEPS_PER_WAKE = 100
_ENGINE_STEP = 0.004
_LONGEST_HEAD_START = 0.02
_HEAD_START_SHARE = 0.6
_HEAD_START_WEIGHT = 0.1
_ADMISSION_INTERVAL = 0.1
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 3.0
_UNREADABLE_FOR = 120.0


class Feeds:
    """All feeds of one process, and the poll scheduler: each polls, waits for a poll, or is idle.

    Args:
        client: Connected client.
        logs: The logs that are read here.
        agent: Identity of the agent, for the wake-up query.
        long_polls: Budget of concurrent long polls.
    """

    def __init__(self, client: Client, logs: Logs, *, agent: str, long_polls: int) -> None:
        self._client = client
        self._logs = logs
        self._agent = agent
        self._long_polls = self._budget = long_polls
        self._feeds: dict[str, Feed] = {}
        self._polling: dict[Feed, asyncio.Task[None]] = {}
        self._waiting: dict[Feed, None] = {}
        self._idle: dict[Feed, float] = {}
        self._admission: asyncio.TimerHandle | None = None
        self._waker: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._head_start = 0.0

    @contextlib.asynccontextmanager
    async def follow(self, task_id: str, *, new: bool = False) -> AsyncGenerator[Subscription]:
        """Subscribe to a task's log; it begins with what this process has read of it.

        Args:
            task_id: The task.
            new: The task was begun just now: the subscription begins with its first event.

        Raises:
            NoTaskError: The workflow is no A2A task.
            RuntimeError: This process is about to stop.
            temporalio.service.RPCError: The workflow does not exist, or cannot be read.
        """
        feed = self._feeds.get(task_id)
        if feed is None or feed.finished:
            feed = self._feeds[task_id] = Feed(self._logs.hold(task_id, new=new), new=new)
        subscription = Subscription(feed, 0 if new else UNREAD)
        feed.subscriptions.add(subscription)
        try:
            await self._begin(feed)
            subscription.position = min(subscription.position, feed.end)
            yield subscription
        finally:
            feed.subscriptions.discard(subscription)
            if not feed.subscriptions:
                self._forget(feed)

    async def _begin(self, feed: Feed) -> None:
        """Read a log that was not read, or not to its end; then let the feed poll."""
        if not feed.new and not feed.reader.whole:
            await feed.read()
        self._want_poll(feed)
        while feed.state is None and not feed.finished and not self.closing:
            await feed.changed()
        if feed.failure is not None:
            raise feed.failure
        if feed.state is None:
            raise RuntimeError("Reading logs has been stopped")

    @property
    def closing(self) -> bool:
        """True once :meth:`aclose` was called: streams end where they are."""
        return self._closing.is_set()

    async def aclose(self) -> None:
        """Stop following; readers see their logs end without a terminal event."""
        self._closing.set()
        tasks = list(self._polling.values())
        if self._waker is not None:
            tasks.append(self._waker)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for feed in list(self._feeds.values()):
            feed.stop()

    def _forget(self, feed: Feed) -> None:
        self._idle.pop(feed, None)
        self._waiting.pop(feed, None)
        polling = self._polling.pop(feed, None)
        if polling is not None:
            polling.cancel()
        if self._feeds.get(feed.task_id) is feed:
            del self._feeds[feed.task_id]
            self._logs.release(feed.reader)
        self._admit()

    def _want_poll(self, feed: Feed) -> None:
        """Give a feed a poll as soon as there is one."""
        if feed in self._polling or feed in self._waiting or feed.finished:
            return
        self._idle.pop(feed, None)
        self._waiting[feed] = None
        self._admit()

    def _pause(self, feed: Feed) -> None:
        """Take a feed's poll away; it goes on from where it is once it has one again."""
        self._polling.pop(feed).cancel()
        self._idle[feed] = asyncio.get_running_loop().time()
        if self._waker is None or self._waker.done():
            self._waker = asyncio.create_task(self._wake_changed())

    def _admit(self) -> None:
        """Give polls to those who wait, taking them from the quietest beyond the budget."""
        while self._waiting and not self.closing:
            if len(self._polling) >= self._budget and not self._make_room():
                if self._admission is None:
                    loop = asyncio.get_running_loop()
                    self._admission = loop.call_later(_ADMISSION_INTERVAL, self._admit_later)
                return
            feed = next(iter(self._waiting))
            del self._waiting[feed]
            feed.resume()
            self._polling[feed] = asyncio.create_task(self._poll(feed))

    def _admit_later(self) -> None:
        self._admission = None
        self._admit()

    def _make_room(self) -> bool:
        """Pause the quietest feed that has read what it was given its poll for."""
        idle = [each for each in self._polling if each.may_pause]
        if not idle:
            return False
        self._pause(min(idle, key=lambda each: (not each.interrupted, each.quiet_since)))
        return True

    async def _poll(self, feed: Feed) -> None:
        pause = _SHORTEST_PAUSE
        loop = asyncio.get_running_loop()
        created = loop.time()
        if feed.new:
            await asyncio.sleep(self._head_start)
        while not feed.finished:
            try:
                moved = await feed.poll()
                if feed.reader.paused:
                    # Temporal lets nobody wait for what a paused workflow does next.
                    await asyncio.sleep(_LONGEST_PAUSE)
                elif not moved:
                    # Steps of Temporal come in quick succession: several make one page.
                    await asyncio.sleep(_ENGINE_STEP if feed.reader.stepping else 0)
                elif feed.new:
                    self._learn_head_start(loop.time() - created)
                    feed.new = False
                pause = _SHORTEST_PAUSE
                feed.unreadable_since = None
                self._admit()
            except Exception as error:  # a reader must learn of any failure, or it waits for ever
                failure = await self._without_poll(feed) if is_out_of_polls(error) else error
                if failure is None or self._goes_on(failure, feed):
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
                else:
                    feed.fail(failure)
        self._polling.pop(feed, None)
        self._admit()

    async def _without_poll(self, feed: Feed) -> Exception | None:
        """Read on without a long poll, and hold fewer from now on; returns what failed."""
        self._budget = max(1, min(self._budget, len(self._polling) - 1))
        try:
            await feed.read()
            feed.unreadable_since = None
        except Exception as error:  # decided on as one of a poll is
            return error
        if len(self._polling) > self._budget:
            self._make_room()
        return None

    def _learn_head_start(self, first_entry: float) -> None:
        """Note how many seconds a new task took until its first entry.

        Polled at once, the log of a new task holds nothing yet, and the polls of many compete with
        their creation. A part of what the tasks before took makes no answer later.
        """
        found = min(first_entry * _HEAD_START_SHARE, _LONGEST_HEAD_START)
        self._head_start += _HEAD_START_WEIGHT * (found - self._head_start)

    def _goes_on(self, error: Exception, feed: Feed) -> bool:
        """Say whether a feed whose poll failed tries again after a pause."""
        if isinstance(error, NoTaskError):
            return False
        if isinstance(error, RPCError):
            if error.status == RPCStatusCode.RESOURCE_EXHAUSTED:
                logger.debug("Temporal holds up the reading of task %s", feed.task_id)
                return True
            if is_missing_workflow(error):
                return False
        if not is_passing(error) or self._stays_unreadable(error, feed):
            logger.error("Reading task %s failed", feed.task_id, exc_info=error)
            return False
        logger.debug("Reading task %s is interrupted: %s", feed.task_id, error)
        return feed.state is not None or feed.finished

    def _stays_unreadable(self, error: Exception, feed: Feed) -> bool:
        """Say whether what a feed has come to could not be decoded here for long enough.

        A storage may lag behind the log that refers to it; a key that is missing stays missing. An
        outage of the storage passes, as one of Temporal does.
        """
        if not isinstance(error, LogUnreadableError):
            return False
        now = asyncio.get_running_loop().time()
        if feed.unreadable_since is None:
            feed.unreadable_since = now
            logger.warning(
                "Task %s cannot be read here now: %s", feed.task_id, why_unreadable(error)
            )
        return is_unreadable(error) and now - feed.unreadable_since >= _UNREADABLE_FOR

    async def _wake_changed(self) -> None:
        """While feeds are idle: let those poll whose task has changed, and sweep the others."""
        changes = Changes(self._client, self._agent)
        failing = False
        while self._idle:
            await asyncio.sleep(_WAKE_INTERVAL)
            self._budget = min(self._budget + 1, self._long_polls)
            try:
                changed = await changes.among([feed.task_id for feed in self._idle])
            except Exception as error:  # without the query, sweeping still wakes everybody
                log = logger.debug if failing or is_passing(error) else logger.error
                log("Streams are woken slowly, for the query that wakes them failed: %s", error)
                failing = failing or not is_passing(error)
                self._sweep(without_query=True)
                continue
            failing = False
            for task_id, status in changed.items():
                feed = self._feeds.get(task_id)
                if feed in self._idle and status != feed.indexed:
                    self._want_poll(feed)
            self._sweep(without_query=False)

    def _sweep(self, *, without_query: bool) -> None:
        now = asyncio.get_running_loop().time()
        most = min(_SWEEPS_PER_WAKE, self._budget) - len(self._waiting)
        due: list[Feed] = []
        for feed, since in self._idle.items():
            if len(due) >= most:
                break
            rare = feed.interrupted and not without_query
            if now - since >= (_IDLE_INTERRUPTED if rare else _IDLE_WORKING):
                due.append(feed)
        for feed in due:
            self._want_poll(feed)
