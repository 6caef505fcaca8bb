"""An open stream: read in the background, so that a test can wait, look and read on."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx

from tests.support.results import CallError, is_terminal, text_of
from tests.support.waiting import Bound, eventually

Frame = dict[str, Any]


class Frames:
    """The StreamResponse frames of one open stream, in order of arrival."""

    def __init__(self, response: httpx.Response, unwrap: Callable[[Frame], Frame]) -> None:
        self.received: list[Frame] = []
        self.arrived: list[float] = []
        self.pings: list[float] = []
        self.closed = False
        self.failure: CallError | httpx.HTTPError | None = None
        self._taken = 0
        self._unwrap = unwrap
        self._reader = asyncio.create_task(self._read(response))

    async def next(self, *, within: float = 15) -> Frame:
        """Return the next frame that was not taken yet."""
        await eventually(
            lambda: len(self.received) > self._taken or self._ended(),
            within=within,
            what=f"frame {self._taken + 1} of the stream",
            every=0.01,
        )
        if len(self.received) == self._taken:
            raise AssertionError(f"the stream ended after {self.received!r}: {self.failure!r}")
        self._taken += 1
        return self.received[self._taken - 1]

    async def until(self, found: Callable[[Frame], bool], *, within: float = 15) -> Frame:
        """Take frames up to one that is looked for."""
        bound = Bound(within)
        while True:
            frame = await self.next(within=max(0.01, bound.left))
            if found(frame):
                return frame

    async def until_state(self, name: str, *, within: float = 15) -> Frame:
        """Take frames up to one in which the task is in a state, such as COMPLETED."""
        return await self.until(lambda frame: state_in(frame) == name, within=within)

    async def to_the_end(self, *, within: float = 30) -> list[Frame]:
        """Wait until the server ends the stream, and return all frames of it."""

        def ended() -> bool:
            assert self.closed, f"received so far: {self.received}"
            return True

        await eventually(ended, within=within, what="the end of the stream")
        if self.failure is not None:
            raise self.failure
        return self.received

    async def drop(self) -> None:
        """Stop reading and close the connection."""
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader

    def _ended(self) -> bool:
        return self.closed

    async def _read(self, response: httpx.Response) -> None:
        try:
            async for kind, data in _events(response, self.pings):
                frame: Frame = json.loads(data)
                if kind == "error" or "error" in frame:
                    raise CallError.read(frame, response.status_code, in_stream=True)
                self.received.append(self._unwrap(frame))
                self.arrived.append(time.monotonic())
        except (CallError, httpx.HTTPError) as error:
            self.failure = error
        finally:
            self.closed = True


async def _events(response: httpx.Response, pings: list[float]) -> AsyncIterator[tuple[str, str]]:
    kind, data = "", list[str]()
    async for line in response.aiter_lines():
        if line.startswith(":"):
            pings.append(time.monotonic())
        elif line.startswith("event:"):
            kind = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())
        elif not line and data:
            yield kind, "\n".join(data)
            kind, data = "", []


def state_in(frame: Frame) -> str:
    """Return the state a frame reports, without its prefix; empty when it reports none."""
    body: Frame = frame.get("statusUpdate") or frame.get("task") or {}
    return str(body.get("status", {}).get("state", "")).removeprefix("TASK_STATE_")


def terminal_frames(frames: list[Frame]) -> list[Frame]:
    """Return the frames that report a terminal state."""
    return [frame for frame in frames if is_terminal(state_in(frame))]


def rebuilt_artifacts(frames: list[Frame]) -> dict[str, str]:
    """Apply frames as a client does: artifact id → the text the client holds at the end."""
    held: dict[str, str] = {}
    for frame in frames:
        if "task" in frame:
            held = {
                artifact["artifactId"]: text_of(artifact)
                for artifact in frame["task"].get("artifacts", [])
            }
        elif "artifactUpdate" in frame:
            update = frame["artifactUpdate"]
            artifact = update["artifact"]
            before = held.get(artifact["artifactId"]) if update.get("append") else ""
            assert before is not None, f"append to an artifact the client never saw: {frame}"
            held[artifact["artifactId"]] = before + text_of(artifact)
    return held
