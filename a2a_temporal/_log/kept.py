"""Read a log again for the price of what is new in it."""

from dataclasses import dataclass
from datetime import timedelta

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from a2a_temporal._log.history import keeps_its_id
from a2a_temporal._log.reading import (
    READ_TIMEOUT,
    Admit,
    AdmitState,
    LogReading,
    NoTaskError,
    RenderResult,
    add_event,
    converter_of,
    newest_events,
)
from a2a_temporal._log.shelf import Shelf
from a2a_temporal._log.state import LogState

_KEPT_LOGS = 500
_KEPT_BYTES = 64 * 1024 * 1024
_MUCH = 1000


@dataclass
class _Kept:
    """A log as far as it was read, and the last event of that: its place, and what tells it apart.

    ``reading`` goes on where it was interrupted, until it has finished.
    """

    reading: LogReading
    event_id: int = 0
    event_key: int = 0

    @property
    def state(self) -> LogState | None:
        """What was read."""
        return self.reading.state

    def is_admitted(self, admit_state: AdmitState | None) -> bool:
        """Say whether somebody may read it, as far as its start tells."""
        return self.state is None or admit_state is None or admit_state(self.state)

    async def finish(self) -> None:
        """Read what is left, if anything is."""
        if not self.reading.finished:
            async for event in self.reading.events():
                self.note(event)

    def note(self, event: HistoryEvent) -> None:
        """Move the place to an event that was folded."""
        if keeps_its_id(event) or not self.event_id:
            self.event_id, self.event_key = event.event_id, event.task_id


class KeptLogs:
    """Logs that were read lately.

    What is returned is as new as Temporal's own answer: every read asks for the newest events of
    the task's newest run, and goes on from what is kept only if its last event is among them. A
    read that fails on its way is gone on with by the next one.

    Args:
        render_result: Turns the result of a plain workflow into parts.
        timeout: Bound of a call for one page of a history.
    """

    def __init__(
        self, render_result: RenderResult | None = None, *, timeout: timedelta = READ_TIMEOUT
    ) -> None:
        self._render_result = render_result
        self._timeout = timeout
        self._kept: Shelf[tuple[str, str], _Kept] = Shelf(_KEPT_LOGS, _KEPT_BYTES)

    async def read(
        self,
        client: Client,
        task_id: str,
        *,
        run_id: str = "",
        admit: Admit | None = None,
        admit_state: AdmitState | None = None,
    ) -> LogState:
        """Return what a task's log says now, for the caller to keep.

        Args:
            client: Connected client; payloads are decoded with its data converter.
            task_id: The task.
            run_id: One run; the newest by default.
            admit: Judges the run before anything is decoded.
            admit_state: Judges the task by its start.

        Raises:
            NoTaskError: The workflow exists but is no A2A task, or none that may be read.
            LogUnreadableError: Something of it cannot be decoded here.
            temporalio.service.RPCError: Temporal did not answer, or knows no such workflow.
        """
        key = (task_id, run_id)
        reading = LogReading(
            client,
            task_id,
            run_id,
            render_result=self._render_result,
            admit=admit,
            admit_state=admit_state,
            timeout=self._timeout,
        )
        # Taken out while it is read on: who comes meanwhile reads for himself.
        kept = self._kept.take(key)
        if kept is not None and not kept.is_admitted(admit_state):
            # It stays for those who may read it; the answer is found as for any other task.
            self._keep(key, kept)
            kept = None
        try:
            if kept is not None and kept.state is not None:
                await kept.finish()
                if await _read_on(client, key, kept, self._timeout):
                    return kept.state.copy()
            elif kept is not None:
                reading.size = kept.reading.size
            kept = _Kept(reading)
            await kept.finish()
            if kept.state is None:
                raise NoTaskError(task_id)
            return kept.state.copy()
        finally:
            # What failed or took too long is gone on with by the next read.
            if kept is not None and (kept.state is not None or kept.reading.size.shrunk):
                self._keep(key, kept)

    def context_of(self, task_id: str) -> str:
        """Return the contextId of a task, as far as it is kept; empty when it is not."""
        kept = self._kept.get((task_id, ""))
        return kept.state.task.context_id if kept and kept.state else ""

    def _keep(self, key: tuple[str, str], kept: _Kept) -> None:
        size = kept.state.bytes if kept.state else 0
        # One that is not read to its end stays, however large it is, or it would never be.
        self._kept.put(key, kept, size if kept.reading.finished else min(size, _KEPT_BYTES))


async def _read_on(client: Client, key: tuple[str, str], kept: _Kept, timeout: timedelta) -> bool:
    """Fold what has come since; False where the log goes on from something else."""
    newer: list[HistoryEvent] = []
    try:
        async for event in newest_events(
            client, *key, first=kept.reading.size.batches, timeout=timeout
        ):
            if event.event_id <= kept.event_id:
                # A run of the same id that was reset, or started anew, has other events there.
                if (event.event_id, event.task_id) != (kept.event_id, kept.event_key):
                    return False
                break
            newer.append(event)
        else:
            return False
    except BaseException:
        if len(newer) > _MUCH:
            kept.reading.state = None  # read from its start, it can be gone on with
        raise
    converter = converter_of(client, key[0])
    for event in reversed(newer):
        if kept.state is not None:
            await add_event(kept.state, event, converter)
        kept.note(event)
    return True
