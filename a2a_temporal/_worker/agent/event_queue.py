"""The event queue an agent writes to: it publishes to the task's log.

State changes leave at once (a thousand in an attempt), artifact chunks and reports of progress in
batches. The queue owns the order: one signal is under way at a time, and a batch is sent again
until Temporal has it, so an attempt's events form one numbered sequence without gaps.
"""

import asyncio
import json
import logging
import uuid
from collections import deque
from datetime import datetime, timezone
from typing import Any, NamedTuple

from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import (
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.json_format import ParseError

from a2a_temporal._log import wire
from a2a_temporal._log.entries import entry_time
from a2a_temporal._log.protojson import StreamEvent, check_depth, event_to_json, timestamp
from a2a_temporal._log.reserved import PREFIX, strip_event
from a2a_temporal._log.state import INTERRUPTED_STATES, TERMINAL_STATES
from a2a_temporal._worker.agent.sending import Pace, Send
from a2a_temporal.errors import PublicError

logger = logging.getLogger("a2a_temporal.agent")

# Sizes are those of the JSON that is sent: of control characters or great numbers it is many times
# what protobuf needs. Temporal warns of payloads beyond 512 KB.
_BATCH_BYTES = 64 * 1024
_ENTRY_BYTES = 480 * 1024
_BUFFER_BYTES = 4 * 1024 * 1024
_HURRIED_BATCHES = 1000
# Steps of the event loop in which an agent that says all at once can return, so that its last
# words and the end of its turn travel together.
_COURTESY_STEPS = 5
_OTHER_LOOPS_PAUSE = 0.05


class _Waiting(NamedTuple):
    """An event that waits to be sent; one that hurries takes along what waits before it."""

    written: dict[str, Any]
    size: int
    hurries: bool


class PublishingQueue(EventQueue):
    """An ``EventQueue`` whose other end is the task's log.

    Args:
        send: Delivers one entry; raises when the log takes no more entries.
        turn: Number of the turn.
        attempt: Number of the attempt at it.
        sequence: Number of the last batch already sent.
        pace: Says when the next batch of artifact chunks and reports is due.
        limit_bytes: Largest event that fits into one entry; ``None`` for no limit.
        source: Names the activity that publishes, if it is no turn of an agent.
        task: The Task as the agent was given it.
    """

    def __init__(
        self,
        send: Send,
        *,
        turn: int,
        attempt: int,
        sequence: int = 0,
        pace: Pace,
        limit_bytes: int | None,
        source: str = "",
        task: Task | None = None,
    ) -> None:
        self._send = send
        self._turn = turn
        self._attempt = attempt
        self._source = source
        self._sequence = sequence
        self._pace = pace
        self._limit = limit_bytes
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._hurrying = 0
        self._hurried = 0
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._closed = False
        self._leaving = False
        self._left = False
        self._sender: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._finished_artifacts: set[str] = set()
        self._asked = _question_in(task)
        self._repeated: TaskState | None = None
        self._held: list[tuple[dict[str, Any], int]] | None = None
        self._asked_for = 0.0
        self._asks_since: float | None = None
        self.state: TaskState | None = None
        self.replied = False

    async def enqueue_event(self, event: StreamEvent) -> None:
        """Publish one event; waits only while Temporal is far behind the agent.

        An event that is refused leaves no trace: the agent may say something else instead.

        Raises:
            PublicError: The event is larger than a log entry can be, appends to an artifact whose
                last chunk was sent, mixes a direct Message with task events, or is nested too
                deeply.
        """
        self._raise_if_broken()
        await self._has_room()
        if self._closed:
            logger.warning("An event published after its turn was over was dropped")
            await asyncio.sleep(0)  # where an agent that does nothing else can be canceled
            return
        self._check(event)
        if strip_event(event):
            logger.warning(
                "Metadata under %s… was taken out of an event that an agent published: only the "
                "workflow says what is asked and decided",
                PREFIX,
            )
        published = self._without_repetition(_complete(event))
        written = event_to_json(published)
        size = self._measure(written)
        before = self.state
        self._note(published)
        urgent = self.replied or self.state != before
        ends = isinstance(published, Message) or _state_in(published) in TERMINAL_STATES
        if self._in_own_loop:
            self._append(written, size, urgent, ends)
        else:
            self._loop.call_soon_threadsafe(self._append, written, size, urgent, ends)
        self._raise_if_broken()

    async def close(self, immediate: bool = False) -> None:
        """Change nothing: what an agent may say ends with its turn, however it leaves its queue."""

    def is_closed(self) -> bool:
        """Say whether the turn is over, so that what is published now is dropped."""
        return self._closed

    async def conclude(self) -> None:
        """Say how the turn ended, if the agent has returned without saying so: it has completed.

        One that has only shown the question again that was answered has asked it again.
        """
        if self.settled:
            return
        state = self._repeated if self.state is None else None
        status = TaskStatus(state=state or TaskState.TASK_STATE_COMPLETED)
        await self.enqueue_event(TaskStatusUpdateEvent(status=status))

    async def go_on(self) -> None:
        """Say that the agent is at work, so that what it has asked waits for nobody."""
        if self.state in INTERRUPTED_STATES:
            status = TaskStatus(state=TaskState.TASK_STATE_WORKING)
            await self.enqueue_event(TaskStatusUpdateEvent(status=status))

    async def finish(self, *, done: bool, leaving: bool = False) -> None:
        """Send what waits; returns when all of it is in the log.

        Args:
            done: The agent's code has returned, so nothing of this turn follows.
            leaving: The activity goes on, but nobody is to wait for it.
        """
        self._closed = True
        self._changed.set()
        if self._sender is not None:
            await self._sender
        self._leaving = leaving
        said_with_it = bool(self._waiting)
        while self._waiting:
            await self._send_batch(done=done)
        if not said_with_it and done and self._end_is_news:
            await self._send_batch(done=True)
            said_with_it = True
        self._left = done and said_with_it and (leaving or self._last_word)

    def hold_end(self) -> None:
        """Keep back from now on what ends the task: the agent's code still runs."""
        self._held = []

    def release_end(self) -> None:
        """Publish what was kept back, behind all else."""
        held, self._held = self._held or [], None
        for written, size in held:
            self._append(written, size, True, True)

    def abandon(self) -> None:
        """Drop what waits: the attempt is void."""
        self._closed = True
        self._waiting.clear()
        self._room.set()
        if self._sender is not None:
            self._sender.cancel()

    @property
    def asked_for(self) -> float:
        """The seconds in which what was said last has asked a person for something."""
        since = self._asks_since
        return self._asked_for + (self._loop.time() - since if since is not None else 0.0)

    @property
    def settled(self) -> bool:
        """True when the turn's last status leaves nothing to be said: terminal or interrupted."""
        return self.replied or self.state in TERMINAL_STATES or self.state in INTERRUPTED_STATES

    @property
    def left(self) -> bool:
        """True when the entry that says so is in the log: nobody waits for the activity."""
        return self._left

    @property
    def _urgent(self) -> bool:
        return self._hurrying > 0 or self._waiting_bytes >= _BATCH_BYTES

    @property
    def _last_word(self) -> bool:
        return self.replied or self.state in TERMINAL_STATES

    @property
    def _end_is_news(self) -> bool:
        # Otherwise streams would wait for a credential that nobody here waits for, and a later
        # attempt would take the agent for one that waits within its turn.
        return self._leaving or self.state in INTERRUPTED_STATES

    @property
    def _ending(self) -> dict[str, Any]:
        left = self._leaving or self._last_word
        return {"done": True, "left": True} if left else {"done": True}

    @property
    def _in_own_loop(self) -> bool:
        """False in a thread that runs an event loop of its own, as adapters of sync code do."""
        return asyncio.get_running_loop() is self._loop

    async def _has_room(self) -> None:
        if self._in_own_loop:
            await self._room.wait()
            return
        while not (self._room.is_set() or self._closed):  # noqa: ASYNC110 - of another loop
            await asyncio.sleep(_OTHER_LOOPS_PAUSE)

    def _append(self, written: dict[str, Any], size: int, urgent: bool, ends: bool) -> None:
        if ends and self._held is not None:
            self._held.append((written, size))
            return
        hurries = urgent and self._hurried < _HURRIED_BATCHES
        self._waiting.append(_Waiting(written, size, hurries))
        self._waiting_bytes += size
        self._hurrying += hurries
        if self._waiting_bytes >= _BUFFER_BYTES:
            self._room.clear()
        if self._sender is None and not self._closed:
            self._sender = asyncio.create_task(self._send_batches())
        self._changed.set()

    def _check(self, event: StreamEvent) -> None:
        """Refuse what an agent may not say, or not any more."""
        _check_depth(event)
        if isinstance(event, Message):
            if self.state is not None:
                raise PublicError(
                    "The agent sent a direct Message after it had begun a task. An agent "
                    "answers either with one Message or with task events."
                )
        elif self.replied:
            raise PublicError(
                "The agent sent task events after a direct Message. An agent answers either with "
                "one Message or with task events."
            )
        if isinstance(event, TaskArtifactUpdateEvent) and event.append:
            artifact_id = event.artifact.artifact_id
            if artifact_id in self._finished_artifacts:
                raise PublicError(
                    f"The agent appended to artifact {artifact_id!r} after its last chunk."
                )

    def _without_repetition(self, event: StreamEvent) -> StreamEvent:
        """Take the answered question off a Task that the agent only shows again.

        Many agents begin each turn with the Task they were given. Whoever waits for the turn would
        take the old question for its answer.
        """
        if not isinstance(event, Task) or self.state is not None or self._asked is None:
            return event
        state, known = self._asked
        message = event.status.message.message_id if event.status.HasField("message") else None
        if event.status.state != state or (message is not None and message not in known):
            return event
        self._repeated = state
        shown = Task()
        shown.CopyFrom(event)
        shown.ClearField("status")
        return shown

    def _note(self, event: StreamEvent) -> None:
        """Remember what the agent has said with an event."""
        match event:
            case Message():
                self.replied = True
            case Task() if not event.HasField("status"):
                pass
            case Task() | TaskStatusUpdateEvent():
                self.state = event.status.state
            case TaskArtifactUpdateEvent():
                self.state = self.state or TaskState.TASK_STATE_WORKING
                self._note_chunk(event)
        asks, now = self.state in INTERRUPTED_STATES, self._loop.time()
        if asks and self._asks_since is None:
            self._asks_since = now
        elif not asks and self._asks_since is not None:
            self._asked_for += now - self._asks_since
            self._asks_since = None

    def _note_chunk(self, event: TaskArtifactUpdateEvent) -> None:
        artifact_id = event.artifact.artifact_id
        if event.last_chunk:
            self._finished_artifacts.add(artifact_id)
        elif not event.append:
            self._finished_artifacts.discard(artifact_id)

    def _measure(self, written: dict[str, Any]) -> int:
        size = len(json.dumps(written))
        if self._limit is not None and size > self._limit:
            raise PublicError(
                f"The agent published an event of {size} bytes; {self._limit} bytes fit into "
                "one entry of the task log. Publish it in chunks (append=True), or configure "
                "ExternalStorage on the Temporal client's data converter."
            )
        return size

    def _raise_if_broken(self) -> None:
        if self._sender is not None and self._sender.done() and not self._sender.cancelled():
            self._sender.result()

    async def _send_batches(self) -> None:
        try:
            while not self._closed:
                await self._changed.wait()
                self._changed.clear()
                for _ in range(_COURTESY_STEPS):
                    await asyncio.sleep(0)
                await self._pause()
                if not self._closed and self._waiting:
                    await self._send_batch()
                if self._waiting:
                    self._changed.set()
        finally:
            # Whoever waits for room is to learn that nothing is sent any more.
            self._room.set()

    async def _pause(self) -> None:
        """Hold back for a moment what is not urgent, unless something urgent waits too."""
        while not (self._urgent or self._closed) and (left := self._pace.left) > 0:
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except (TimeoutError, asyncio.TimeoutError):
                return
            self._changed.clear()

    async def _send_batch(self, *, done: bool = False) -> None:
        """Send what waits, as much as fits into one entry."""
        batch: list[_Waiting] = []
        size = 0
        while self._waiting and (not batch or size + self._waiting[0].size <= _ENTRY_BYTES):
            batch.append(self._waiting.popleft())
            size += batch[-1].size
        self._waiting_bytes -= size
        hurrying = sum(each.hurries for each in batch)
        self._hurrying -= hurrying
        self._hurried += hurrying > 0
        self._room.set()
        self._sequence += 1
        self._pace.count()
        await self._send(
            {
                "version": wire.LOG_VERSION,
                "turn": self._turn,
                "attempt": self._attempt,
                "sequence": self._sequence,
                "events": [each.written for each in batch],
                "at": entry_time(datetime.now(timezone.utc)),
                **(self._ending if done and not self._waiting else {}),
                **({"source": self._source} if self._source else {}),
            }
        )


def _check_depth(event: StreamEvent) -> None:
    try:
        check_depth(event)
    except ParseError as error:
        raise PublicError(
            "The agent published an event that is nested too deeply: A2A data may hold about 30 "
            "objects inside each other."
        ) from error


def _complete(event: StreamEvent) -> StreamEvent:
    """Give an event the time, and its messages the ids, that A2A wants and agents forget."""
    said: list[Message] = []
    match event:
        case Message():
            said = [event]
        case Task():
            said = [*event.history]
        case _:
            pass
    if isinstance(event, Task | TaskStatusUpdateEvent):
        event.status.timestamp.CopyFrom(timestamp(datetime.now(timezone.utc)))
        if event.status.HasField("message"):
            said.append(event.status.message)
    for message in said:
        message.message_id = message.message_id or str(uuid.uuid4())
    return event


def _state_in(event: StreamEvent) -> TaskState | None:
    match event:
        case Task() | TaskStatusUpdateEvent():
            return event.status.state
        case _:
            return None


def _question_in(task: Task | None) -> tuple[TaskState, frozenset[str]] | None:
    """Return in which state a Task waits for an answer, and the ids of all that was said in it."""
    if task is None or task.status.state not in INTERRUPTED_STATES:
        return None
    said = [*task.history, task.status.message]
    return task.status.state, frozenset(message.message_id for message in said)
