"""Read a log again for the price of what is new in it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from a2a.types.a2a_pb2 import Part
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from a2a_temporal._log.history import keeps_its_id
from a2a_temporal._log.reading import NoTaskError, add_event, newest_events, reading_log
from a2a_temporal._log.shelf import Shelf
from a2a_temporal._log.state import LogState

_KEPT_LOGS = 500
_KEPT_BYTES = 64 * 1024 * 1024


@dataclass
class _Kept:
    """A folded log and the last event in it: its place, and what tells it from all others."""

    state: LogState
    event_id: int
    event_key: int

    def note(self, event: HistoryEvent) -> None:
        """Move the place to an event that was folded."""
        if keeps_its_id(event):
            self.event_id, self.event_key = event.event_id, event.task_id


class KeptLogs:
    """Logs that were read lately.

    What is returned is as new as Temporal's own answer: every read asks for the newest events of
    the task's newest run, and goes on from what is kept only if its last event is among them.

    Args:
        render_result: Turns the result of a plain workflow into parts.
    """

    def __init__(self, render_result: Callable[[Any], list[Part]] | None = None) -> None:
        self._render_result = render_result
        self._kept: Shelf[tuple[str, str], _Kept] = Shelf(_KEPT_LOGS, _KEPT_BYTES)

    async def read(self, client: Client, task_id: str, *, run_id: str = "") -> LogState:
        """Return what a task's log says now, for the caller to keep.

        Args:
            client: Connected client; payloads are decoded with its data converter.
            task_id: The task.
            run_id: One run; the newest by default.

        Raises:
            NoTaskError: The workflow exists but is no A2A task.
            temporalio.service.RPCError: Temporal did not answer, or knows no such workflow.
        """
        key = (task_id, run_id)
        # Taken out while it is read on: who comes meanwhile reads for himself.
        kept = self._kept.take(key)
        try:
            if kept is None or not await _read_on(client, key, kept):
                kept = None
                reading = reading_log(client, task_id, run_id, render_result=self._render_result)
                async for state, event in reading:
                    kept = kept or _Kept(state, event.event_id, event.task_id)
                    kept.note(event)
        except asyncio.CancelledError:
            # It took too long for this call; the next one goes on from there.
            if kept is not None:
                self._kept.put(key, kept, kept.state.bytes)
            raise
        if kept is None:
            raise NoTaskError(task_id)
        self._kept.put(key, kept, kept.state.bytes)
        return kept.state.copy()


async def _read_on(client: Client, key: tuple[str, str], kept: _Kept) -> bool:
    """Fold what has come since; False where the log goes on from something else."""
    newer: list[HistoryEvent] = []
    async for event in newest_events(client, *key):
        if event.event_id <= kept.event_id:
            # A run of the same id that was reset, or started anew, has other events there.
            if (event.event_id, event.task_id) != (kept.event_id, kept.event_key):
                return False
            break
        newer.append(event)
    else:
        return False
    for event in reversed(newer):
        await add_event(kept.state, event, client)
        kept.note(event)
    return True
