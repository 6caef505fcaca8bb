"""A client that knows a task from streams alone: cut at random, taken up again, folded."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, Callable

import httpx

from a2a_temporal._server.resume import URI
from tests.chaos.journal import Journal, Refusal, Said, Streamed
from tests.chaos.views import cursor_of, reduced, view
from tests.support.calls import Caller
from tests.support.frames import Frame, Frames, state_in
from tests.support.results import CallError, Json, is_terminal

_OPENS_WITHIN = 45.0
_SETTLES_WITHIN = 100.0
_ENDED = -32004
_RETRYABLE = (-32603, 0)


class Following:
    """One task, followed over as many streams as it takes.

    Args:
        callers: Chooses a replica and a binding.
        luck: Decides when to hang up.
        journal: Takes what was seen.
        task_id: The task; empty where `said` begins it.
        said: A message that is sent with the first stream.
    """

    def __init__(
        self,
        *,
        callers: Callable[[], Caller],
        luck: random.Random,
        journal: Journal,
        task_id: str = "",
        said: Said | None = None,
    ) -> None:
        self.task_id = task_id
        self.held: Json | None = None
        self.cursors = luck.random() < 0.5
        self._callers = callers
        self._luck = luck
        self._journal = journal
        self._said = said
        self._sent = asyncio.Event()
        self._over = False
        self._cursor = ""
        self._seen: set[str] = set()
        self._doubled: list[str] = []
        self._opened = 0
        self._frames = 0
        self._asked = 0.0
        self._running = asyncio.create_task(self._run())

    async def begun(self) -> str:
        """Wait until the message was acknowledged by a first frame; the task's id, or nothing."""
        await self._sent.wait()
        return self.task_id

    async def settle(self, final: Json) -> None:
        """Wait until the streams have told all that GetTask says, and write down both."""
        deadline = time.monotonic() + _SETTLES_WITHIN
        wanted = view(final)
        while not (self._over or self._holds(wanted) or time.monotonic() > deadline):
            await self._progress()
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        self._journal.streamed.append(
            Streamed(
                task_id=self.task_id,
                cursors=self.cursors,
                opened=self._opened,
                frames=self._frames,
                doubled=tuple(self._doubled),
                held=view(self.held) if self.held is not None else None,
                final=wanted,
            )
        )

    async def drop(self) -> None:
        """Hang up for good."""
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)

    async def _progress(self) -> None:
        """Give the streams a moment."""
        await asyncio.sleep(0.1)

    def _holds(self, wanted: Json) -> bool:
        return self.held is not None and view(self.held) == wanted

    async def _run(self) -> None:
        try:
            while not self._over:
                try:
                    async with self._stream() as frames:
                        await self._read(frames)
                except CallError as error:
                    self._refused(error)
                except asyncio.TimeoutError:
                    self._journal.complain(f"no stream was opened within {_OPENS_WITHIN} s")
                except (httpx.HTTPError, AssertionError, KeyError) as error:
                    self._journal.counts[f"stream: {type(error).__name__}"] += 1
                await asyncio.sleep(self._luck.uniform(0.05, 0.5))
        except Exception as error:
            self._journal.complain(f"a follower of {self.task_id} broke: {error!r}")
            raise
        finally:
            self._sent.set()

    @contextlib.asynccontextmanager
    async def _stream(self) -> AsyncGenerator[Frames]:
        caller = self._callers()
        self._asked = 0.0 if self._cursor else time.time()
        if self.cursors:
            caller = caller.with_headers(A2A_Extensions=URI)
            if self._cursor:
                caller = caller.with_headers(A2A_Stream_Cursor=self._cursor)
        if self._said is not None and not self._sent.is_set():
            opening = caller.stream(
                self._said.text,
                message_id=self._said.message_id,
                task_id=self._said.task_id or None,
            )
        else:
            opening = caller.subscribe(self.task_id)
        async with contextlib.AsyncExitStack() as stack:
            entering = stack.enter_async_context(opening)
            frames = await asyncio.wait_for(entering, _OPENS_WITHIN)
            self._opened += 1
            self._journal.counts[f"stream: opened{' with a cursor' if self._cursor else ''}"] += 1
            yield frames

    async def _read(self, frames: Frames) -> None:
        """Take frames until the stream ends, or until it is time to hang up."""
        hang_up = time.monotonic() + self._luck.uniform(0.5, 12)
        taken = 0
        while time.monotonic() < hang_up and not self._over:
            ended = frames.closed
            for frame in frames.received[taken:]:
                # Only a stream from now begins with the Task of now.
                self._take(frame, asked=self._asked if taken == 0 else 0.0)
                taken += 1
            if ended:
                if isinstance(frames.failure, CallError):
                    raise frames.failure
                self._journal.counts["stream: ended or cut by the server"] += 1
                return
            await asyncio.sleep(0.03)
        self._journal.counts["stream: cut by the client"] += 1

    def _take(self, frame: Frame, *, asked: float) -> None:
        self._frames += 1
        if "message" in frame:
            return
        cursor = cursor_of(frame)
        if cursor and "task" not in frame:
            if cursor in self._seen:
                self._doubled.append(cursor)
            self._seen.add(cursor)
        self._cursor = cursor or self._cursor
        self.held = reduced(self.held, frame)
        if "task" in frame or "statusUpdate" in frame:
            told = frame.get("task") or frame["statusUpdate"]
            self._journal.saw(told, asked=asked, source="stream")
        if "task" in frame:
            self.task_id = self.task_id or str(frame["task"]["id"])
            self._acknowledge()
        if is_terminal(state_in(frame)):
            self._over = True

    def _acknowledge(self) -> None:
        if self._said is not None and not self._sent.is_set():
            self._said.acknowledged.add(self.task_id)
        self._sent.set()

    def _refused(self, error: CallError) -> None:
        self._journal.counts[f"stream: {error.code or f'HTTP {error.status}'}"] += 1
        self._journal.refusals.append(
            Refusal(call="stream", code=error.code, status=error.status, body=error.body)
        )
        if error.code in _RETRYABLE:
            return
        self._over = True
        if error.code != _ENDED:
            self._journal.complain(f"stream of {self.task_id} was refused with {error.code}")
        if self._said is not None and not self._sent.is_set():
            self._said.refused = error.code
        if not self._cursor:
            self.held = None  # the end was missed, as a plain subscription may: GetTask has it
