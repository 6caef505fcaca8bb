"""A task's log as its receivers see it: which event each of them is to be told, in order.

A position says how far a receiver has got. It names the next event to tell, by run, history event
and index among the events that one entry makes, and it stays valid across continue-as-new.
"""

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, cast

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.workflowservice.v1 import (
    GetWorkflowExecutionHistoryRequest,
    GetWorkflowExecutionHistoryResponse,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._executions import described
from a2a_temporal._gateway import Gateway, converter_of, is_late
from a2a_temporal._log.entries import MessageEntry, TaskStart
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import StreamEvent
from a2a_temporal._log.state import LogState, PushConfig, begin
from a2a_temporal._reading.decode import Successor, closes, entry_of, keeps_its_id, start_of
from a2a_temporal._reading.late_configs import read_late_configs
from a2a_temporal._reading.pages import PageSize, newest_events
from a2a_temporal._reading.position import LogPosition
from a2a_temporal._reading.reader import NoTaskError
from a2a_temporal._reconnecting import reconnecting

_READ_TIMEOUT = timedelta(seconds=5)
_QUIET_SECONDS = 0.2
_KEPT_LOGS = 32
_KEPT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Notification:
    """An event to tell, where it stands, to whom, and in which trace."""

    position: LogPosition
    after: LogPosition
    event: StreamEvent
    receivers: dict[str, int]
    traceparent: str


class NotificationLog:
    """Reads a task's log from the start of a run, and on from there with every further call.

    Args:
        client: Client of the worker.
        task_id: The task.
        run_id: The first run to read; the log goes on in its successors.

    Attributes:
        first_run_id: The first run that is read.
        state: What the log says so far.
        next: The position after all that has been read.
        closed: The task's last run has closed.
        continued: The log goes on in a run with a delivery workflow of its own: the first run was
            continued as new, or it was reset.
        broken: Reading was interrupted half way; the log must be read anew.
    """

    def __init__(self, client: Client, task_id: str, run_id: str) -> None:
        self.task_id = task_id
        self.first_run_id = run_id
        self.next = LogPosition(run_id)
        self.closed = False
        self.continued = False
        self.broken = False
        self._client = client
        self._state: LogState | None = None
        self._runs = {run_id: 0}
        self._notifications: list[Notification] = []
        self._bytes = 0
        self._token = b""
        self._size = PageSize()
        self._traceparent = ""
        self._reset = False
        self._reading = asyncio.Lock()

    @property
    def state(self) -> LogState:
        """The folded log.

        Raises:
            NoTaskError: Nothing of it has been read.
        """
        if self._state is None:
            raise NoTaskError(self.task_id)
        return self._state

    @property
    def light(self) -> bool:
        """True while the read events are few enough to be kept for the next call."""
        return self._bytes <= _KEPT_BYTES

    @property
    def configs(self) -> dict[str, PushConfig]:
        """The configs that are set at the end of what was read."""
        return self.state.push_configs

    def pending(self, push: PushConfig, position: LogPosition) -> list[Notification]:
        """Return what a receiver has yet to be told from a position on."""
        start = self._order(position)
        found: list[Notification] = []
        for notification in reversed(self._notifications):
            if self._order(notification.position) < start:
                break
            if notification.receivers.get(push.config.id) == push.since:
                found.append(notification)
        return found[::-1]

    @property
    def at_work(self) -> bool:
        """True while more events of the first run are soon to be expected."""
        state = self.state
        return not (self.closed or self.continued or state.terminal or state.interrupted)

    async def grown(self, within: timedelta) -> bool:
        """Wait until Temporal has more than was read; says whether it came to that.

        What comes is read by :meth:`read`, so that nobody else who reads has to wait meanwhile.
        """
        request = self._request()
        if not request.next_page_token:
            return False
        try:
            await self._client.workflow_service.get_workflow_execution_history(
                request, timeout=within
            )
        except RPCError:
            return False
        return True

    async def read(self, *, thoroughly: bool = False) -> None:
        """Read what is there now.

        Args:
            thoroughly: Believe in the end of the log only when Temporal has nothing more to give.

        Raises:
            NoTaskError: The workflow is no A2A task.
            temporalio.service.RPCError: Temporal did not answer, or no longer knows the run.
        """
        async with self._reading:
            if self.broken:
                return
            while not self.closed:
                asked = self._size.batches
                page = await self._sized_page()
                if page is None:
                    break
                full = len(page.history.events) >= asked
                self.broken = True
                moved = await self._read_page(page)
                self.broken = False
                paused = not (self._token or moved)
                if paused or not (full or moved or thoroughly):
                    break

    async def _sized_page(self) -> GetWorkflowExecutionHistoryResponse | None:
        """Return the next page, of a size that comes in time; ``None`` when there is nothing new.

        Where none comes in time the log is what it was, and is read on by the next call.
        """
        asked, began = self._size.batches, time.monotonic()
        try:
            page = await self._next_page()
        except RPCError as error:
            self._size.shrink()
            self.broken = not is_late(error)
            raise
        if page is not None and len(page.history.events) >= asked:
            self._size.note(page.ByteSize(), time.monotonic() - began)
        return page

    async def _next_page(self) -> GetWorkflowExecutionHistoryResponse | None:
        """Return the next page; ``None`` when there is nothing new."""
        request = self._request()
        reading = reconnecting(
            lambda: self._client.workflow_service.get_workflow_execution_history(
                request, retry=not self._token, timeout=_READ_TIMEOUT
            )
        )
        if not self._token:
            return await reading
        polling = asyncio.ensure_future(reading)
        try:
            await asyncio.wait([polling], timeout=_QUIET_SECONDS)
            if not polling.done() and await self._is_at_its_end() and not polling.done():
                return None
            return await polling
        finally:
            polling.cancel()

    def _request(self) -> GetWorkflowExecutionHistoryRequest:
        return GetWorkflowExecutionHistoryRequest(
            namespace=self._client.namespace,
            execution=WorkflowExecution(workflow_id=self.task_id, run_id=self.next.run_id),
            maximum_page_size=self._size.batches,
            next_page_token=self._token,
            # For the first page not to wait, but to get a token with which to read on later.
            wait_new_event=True,
        )

    async def _is_at_its_end(self) -> bool:
        """Say whether silence means that there is nothing new, or that Temporal answers slowly."""
        async for event in newest_events(Gateway(self._client), self.task_id, self.next.run_id):
            if keeps_its_id(event):
                return event.event_id < self.next.event_id
        return False

    async def _read_page(self, page: GetWorkflowExecutionHistoryResponse) -> bool:
        """Fold a page; say whether the log goes on in another run."""
        successor: Successor | None = None
        for event in page.history.events:
            if event.event_id < self.next.event_id:
                continue  # the page of a paused workflow has no token with which to read on
            successor = await self._read_event(event)
            if keeps_its_id(event):
                self.next = LogPosition(self.next.run_id, event.event_id + 1)
        self._token = page.next_page_token
        if successor is not None:
            self._token = b""
            self.next = LogPosition(successor.run_id)
            self._runs[successor.run_id] = len(self._runs)
        elif any(map(closes, page.history.events[-1:])):
            self.closed = True
        return successor is not None

    async def _read_event(self, event: HistoryEvent) -> Successor | None:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
            await self._begin(event)
            return None
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
            newer = await self._newer_run()
            if newer:
                self._reset = self.continued = True
                return Successor(newer)
        if self._reset and _is_reset_point(event):
            self._reset = False
            self._note(event, [self.state.copy_task()])
        entry = await entry_of(event, converter_of(self._client, self.task_id))
        if isinstance(entry, Successor):
            self.continued = self.continued or len(self._runs) == 1
            return entry
        if entry is not None:
            if isinstance(entry, MessageEntry):
                self._trace(entry.request)
            self._note(event, fold(self.state, entry))
        return None

    async def _begin(self, event: HistoryEvent) -> None:
        start = await start_of(event, converter_of(self._client, self.task_id))
        if start is None:
            raise NoTaskError(self.task_id)
        self._state = begin(start)
        self._trace(start.request)
        if _is_new(start):
            self._note(event, [self.state.copy_task()])

    def _note(self, event: HistoryEvent, made: list[StreamEvent]) -> None:
        configs = self.state.push_configs
        receivers = {config_id: push.since for config_id, push in configs.items()}
        if self._reset or not receivers:
            return
        run_id = self.next.run_id
        for index, each in enumerate(made):
            position = LogPosition(run_id, event.event_id, index)
            after = LogPosition(run_id, event.event_id, index + 1)
            self._notifications.append(
                Notification(position, after, each, receivers, self._traceparent)
            )
            self._bytes += each.ByteSize()

    def _trace(self, request: dict[str, object]) -> None:
        headers = request.get("headers")
        if isinstance(headers, dict):
            self._traceparent = str(cast("dict[str, Any]", headers).get("traceparent", ""))
        else:
            self._traceparent = ""

    def _order(self, position: LogPosition) -> tuple[int, int, int]:
        # A run that is not known came before the first one, and is no longer kept.
        return self._runs.get(position.run_id, -1), position.event_id, position.index

    async def _newer_run(self) -> str:
        """Return the run that replaced a terminated one (a reset), if there is any."""
        found = await described(self._client, self.task_id, timeout=_READ_TIMEOUT)
        run_id = found.workflow_execution_info.execution.run_id
        return run_id if run_id not in self._runs else ""


class NotificationLogs:
    """The logs a worker has read lately, so that the next delivery reads only what is new."""

    def __init__(self) -> None:
        self._logs: OrderedDict[tuple[str, str], NotificationLog] = OrderedDict()

    async def read(
        self, client: Client, task_id: str, *, run_ids: Sequence[str], thoroughly: bool = False
    ) -> NotificationLog:
        """Return a task's log as it is now, from the first of the runs that still exists.

        Raises:
            NoTaskError: The workflow is no A2A task.
            temporalio.service.RPCError: Temporal did not answer, or knows none of the runs.
        """
        for run_id in run_ids[:-1]:
            try:
                return await self._read(client, task_id, run_id, thoroughly)
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:
                    raise
        return await self._read(client, task_id, run_ids[-1], thoroughly)

    async def _read(
        self, client: Client, task_id: str, run_id: str, thoroughly: bool
    ) -> NotificationLog:
        key = (task_id, run_id)
        log = self._logs.get(key)
        if log is not None:
            try:
                await log.read(thoroughly=thoroughly)
            except RPCError:
                if not log.broken:
                    raise
        if log is None or log.broken:
            log = self._logs[key] = NotificationLog(client, task_id, run_id)
            await log.read(thoroughly=thoroughly)
        self._logs.move_to_end(key)
        if not log.light:
            del self._logs[key]
        elif len(self._logs) > _KEPT_LOGS:
            self._logs.popitem(last=False)
        return log


async def present_configs(client: Client, log: NotificationLog) -> dict[str, PushConfig]:
    """Return the configs of a task as they are now, changes after its end included.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    if not (log.closed and log.state.terminal):
        return log.configs
    return (await read_late_configs(client, log.state)).configs


def child_traceparent(traceparent: str) -> str:
    """Return the trace context of one delivery: a new span in the trace of the client's call.

    Without a trace it opens one, so that a receiver's records can be told apart all the same.
    """
    fields = traceparent.split("-")
    span = secrets.token_hex(8)
    if len(fields) == 4 and len(fields[1]) == 32 and set(fields[1]) - {"0"}:
        return f"{fields[0]}-{fields[1]}-{span}-{fields[3]}"
    return f"00-{secrets.token_hex(16)}-{span}-00"


def _is_new(start: TaskStart) -> bool:
    return start.snapshot is None


def _is_reset_point(event: HistoryEvent) -> bool:
    failed = event.workflow_task_failed_event_attributes
    return (
        event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
        and failed.cause == WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
    )


End = Literal["open", "closed", "continued"]
