"""The logs that a process has read lately, so that reading one again costs what is new in it."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import timedelta

from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal._gateway import CALL_TIMEOUT, Gateway, is_missing_workflow
from a2a_temporal._log.state import LogState
from a2a_temporal._reading.reader import (
    Admit,
    AdmitState,
    LogReader,
    NoTaskError,
    RenderResult,
    Watch,
)

_KEPT = 500
_KEPT_BYTES = 64 * 1024 * 1024


class Logs:
    """A bounded LRU cache of readers of logs.

    What it says is never old: a state is returned only after Temporal was asked for the newest
    events of the task's newest run. Whoever follows a task holds its reader, which is the one that
    reads its state as well, so the two cannot disagree.

    Args:
        client: Connected client; payloads are decoded with its data converter.
        render_result: Turns the result of a plain workflow into parts.
        timeout: Bound of a call for one page of a history.
        watching: Makes what is shown every history event of a task; see :meth:`watch_of`.
    """

    def __init__(
        self,
        client: Client,
        *,
        render_result: RenderResult | None = None,
        timeout: timedelta = CALL_TIMEOUT,
        watching: Callable[[], Watch] | None = None,
    ) -> None:
        self._gateway = Gateway(client, timeout=timeout)
        self._render_result = render_result
        self._watching = watching
        self._held: dict[str, LogReader] = {}
        self._kept: OrderedDict[tuple[str, str], tuple[LogReader, int]] = OrderedDict()
        self._bytes = 0

    @property
    def client(self) -> Client:
        """The client it was made with."""
        return self._gateway.client

    async def state(
        self,
        task_id: str,
        *,
        run_id: str = "",
        admit: Admit | None = None,
        admit_state: AdmitState | None = None,
    ) -> LogState:
        """Return what a task's log says now, for the caller to keep.

        Args:
            task_id: The task.
            run_id: One run; the newest by default.
            admit: Judges the run before anything is decoded.
            admit_state: Judges the task by its start.

        Raises:
            NoTaskError: The workflow exists but is no A2A task, or none that may be read.
            LogUnreadableError: Something of it cannot be decoded here.
            temporalio.service.RPCError: Temporal did not answer, or knows no such workflow.
        """
        reader = self._find(task_id, run_id)
        if reader is None or not _is_admitted(reader, admit_state):
            # Somebody who may not see a task gets the answer as of one that was never read.
            reader = self._new(task_id, run_id)
        gone = False
        try:
            state = await reader.read(admit=admit, admit_state=admit_state)
            if not _is_admitted(reader, admit_state):
                raise NoTaskError(task_id)
            return state.copy()
        except RPCError as error:
            gone = is_missing_workflow(error)
            raise
        finally:
            # What failed or took too long is gone on with by the next call.
            if not gone and (reader.state is not None or reader.size.shrunk):
                self._keep(reader, run_id)
            elif gone:
                self._take((task_id, run_id))

    def watch_of(self, task_id: str) -> Watch | None:
        """Return what has seen the history events of a task, if its log is kept."""
        reader = self._find(task_id)
        return reader.watch if reader else None

    def context_of(self, task_id: str) -> str:
        """Return the contextId of a task, as far as it was read; empty when it was not."""
        reader = self._find(task_id)
        return reader.state.task.context_id if reader and reader.state else ""

    def hold(self, task_id: str, *, new: bool = False) -> LogReader:
        """Return the reader of a task, to be kept until it is released.

        Args:
            task_id: The task.
            new: It was begun just now; what is known of another one of this id is forgotten.
        """
        known = self._held.pop(task_id, None) or self._take((task_id, ""))
        reader = self._new(task_id) if known is None or new else known
        self._held[task_id] = reader
        return reader

    def release(self, reader: LogReader) -> None:
        """Keep a reader that was held for as long as there is room."""
        reader.listen = reader.notify = None
        if self._held.get(reader.task_id) is reader:
            del self._held[reader.task_id]
            if reader.state is not None:
                self._keep(reader, "")

    def _new(self, task_id: str, run_id: str = "") -> LogReader:
        reader = LogReader(self._gateway, task_id, run_id=run_id, render_result=self._render_result)
        reader.watch = self._watching() if self._watching else None
        return reader

    def _find(self, task_id: str, run_id: str = "") -> LogReader | None:
        held = self._held.get(task_id) if not run_id else None
        return held or self._kept.get((task_id, run_id), (None, 0))[0]

    def _take(self, key: tuple[str, str]) -> LogReader | None:
        reader, size = self._kept.pop(key, (None, 0))
        self._bytes -= size
        return reader

    def _keep(self, reader: LogReader, run_id: str) -> None:
        """Make a reader the one that was used last; one that is held needs no room here."""
        if self._held.get(reader.task_id) is reader:
            return
        key = (reader.task_id, run_id)
        size = reader.state.bytes if reader.state else 0
        # One that is not read to its end stays, however large it is, or it would never be.
        size = size if reader.whole else min(size, _KEPT_BYTES)
        self._take(key)
        self._kept[key] = reader, size
        self._bytes += size
        while len(self._kept) > _KEPT or self._bytes > _KEPT_BYTES:
            self._take(next(iter(self._kept)))


def _is_admitted(reader: LogReader, admit_state: AdmitState | None) -> bool:
    return reader.state is None or admit_state is None or admit_state(reader.state)
