"""A task's log as its receivers see it: which event each of them is to be told, in order.

A position says how far a receiver has got. It names the next event to tell, by run, history event
and index among the events that one entry makes, and it stays valid across continue-as-new.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Literal, cast

from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal._gateway import Gateway, is_missing_workflow, with_deadline
from a2a_temporal._log.entries import Entry, MessageEntry, TaskStart
from a2a_temporal._log.protojson import StreamEvent
from a2a_temporal._log.state import LogState, PushConfig
from a2a_temporal._reading.late_configs import read_late_configs
from a2a_temporal._reading.position import LogEvent, LogPosition, task_event
from a2a_temporal._reading.reader import LogReader, NoTaskError

_PAUSE = 3.0
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
    """The stream events of a task from a run on, and who was to be told of each.

    Args:
        client: Client of the worker.
        task_id: The task.
        run_id: The first run to read; the log goes on in its successors.

    Attributes:
        first_run_id: The first run that is read.
    """

    def __init__(self, client: Client, task_id: str, run_id: str) -> None:
        self.first_run_id = run_id
        self._reader = LogReader(Gateway(client), task_id, since=run_id)
        self._reader.listen = self._add
        self._runs = {run_id: 0}
        self._notifications: list[Notification] = []
        self._bytes = 0
        self._traceparent = ""

    @property
    def state(self) -> LogState:
        """The folded log.

        Raises:
            NoTaskError: Nothing of it has been read.
        """
        if self._reader.state is None:
            raise NoTaskError(self._reader.task_id)
        return self._reader.state

    @property
    def next(self) -> LogPosition:
        """The position after all that has been read."""
        read = self._reader.position
        self._runs.setdefault(read.run_id, len(self._runs))
        return LogPosition(read.run_id, read.event_id + 1)

    @property
    def closed(self) -> bool:
        """True once the task's last run has closed."""
        return self._reader.closed

    @property
    def continued(self) -> bool:
        """True once the log goes on in a run with a delivery workflow of its own.

        The first run was continued as new, or it was reset.
        """
        return self._reader.position.run_id != self.first_run_id

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
        """Wait until the log has more than was read; says whether it came to that."""
        try:
            await with_deadline(within, self._next_entry())
        except (RPCError, RuntimeError, OSError, TimeoutError, asyncio.TimeoutError):
            return False
        return True

    async def _next_entry(self) -> None:
        while not await self._reader.poll() and not self.closed:
            if self._reader.paused:  # Temporal lets nobody wait for what it does next
                await asyncio.sleep(_PAUSE)

    async def read(self) -> None:
        """Read what is there now.

        Raises:
            NoTaskError: The workflow is no A2A task.
            temporalio.service.RPCError: Temporal did not answer, or no longer knows the run.
        """
        if not self.closed:
            await self._reader.read()

    def _add(self, entry: Entry | TaskStart | None, made: list[LogEvent]) -> None:
        state, position = self.state, self._reader.position
        self._runs.setdefault(position.run_id, len(self._runs))
        if isinstance(entry, MessageEntry):
            self._trace(entry.request)
        elif isinstance(entry, TaskStart):
            self._trace(entry.request)
            if entry.snapshot is None:
                made = [task_event(state, position.event_id, 0)]
        receivers = {config_id: push.since for config_id, push in state.push_configs.items()}
        for each in made if receivers else ():
            after = replace(each.position, index=each.position.index + 1)
            self._notifications.append(
                Notification(each.position, after, each.event, receivers, self._traceparent)
            )
            self._bytes += each.event.ByteSize()

    def _trace(self, request: dict[str, object]) -> None:
        headers = request.get("headers")
        if isinstance(headers, dict):
            self._traceparent = str(cast("dict[str, Any]", headers).get("traceparent", ""))
        else:
            self._traceparent = ""

    def _order(self, position: LogPosition) -> tuple[int, int, int]:
        # A run that is not known came before the first one, and is no longer kept.
        return self._runs.get(position.run_id, -1), position.event_id, position.index


class NotificationLogs:
    """The logs a worker has read lately, so that the next delivery reads only what is new."""

    def __init__(self) -> None:
        self._logs: OrderedDict[tuple[str, str], NotificationLog] = OrderedDict()

    async def read(
        self, client: Client, task_id: str, *, run_ids: Sequence[str]
    ) -> NotificationLog:
        """Return a task's log as it is now, from the first of the runs that still exists.

        Raises:
            NoTaskError: The workflow is no A2A task.
            temporalio.service.RPCError: Temporal did not answer, or knows none of the runs.
        """
        for run_id in run_ids[:-1]:
            try:
                return await self._read(client, task_id, run_id)
            except RPCError as error:
                if not is_missing_workflow(error):
                    raise
        return await self._read(client, task_id, run_ids[-1])

    async def _read(self, client: Client, task_id: str, run_id: str) -> NotificationLog:
        key = (task_id, run_id)
        log = self._logs.pop(key, None) or NotificationLog(client, task_id, run_id)
        await log.read()
        if log.light:
            self._logs[key] = log
            if len(self._logs) > _KEPT_LOGS:
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


End = Literal["open", "closed", "continued"]
