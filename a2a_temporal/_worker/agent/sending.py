"""Send entries from an activity to the log of its task: how often, and until Temporal has them."""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal import errors
from a2a_temporal._log import wire

logger = logging.getLogger("a2a_temporal.agent")

_T = TypeVar("_T")

Send = Callable[[dict[str, Any]], Awaitable[None]]
"""Signals one events entry to the task's workflow."""

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
# A payload may have 2 MB; the rest of an entry and the growth by escapes need room.
ENTRY_LIMIT_BYTES = 1_800_000
_DOUBLING_BATCHES = 650
_SAVED_BATCHES = 4
_FULL = "The task has had as many messages and events as Temporal takes during one turn."


class LogClosedError(Exception):
    """The workflow takes no more entries: it was closed under the running activity."""


class LogFullError(ApplicationError, errors.PublicError):
    """The run takes no more entries: it has had as many signals as Temporal takes.

    It may leave the activity by itself, so it is a failure of the kind that an agent's code makes.
    """

    def __init__(self) -> None:
        reference = uuid.uuid4().hex[:12]
        super().__init__(_FULL, _FULL, reference, type=errors.AGENT_FAILED, non_retryable=True)
        self.text = _FULL


def entry_limit(converter: DataConverter) -> int | None:
    """Return the largest event an entry can hold, in bytes of JSON; None with external storage."""
    return None if converter.external_storage is not None else ENTRY_LIMIT_BYTES


def sender(client: Client, task_id: str, run_id: str) -> Send:
    """Return a function that signals an entry and does not give up while the run is open."""
    workflow = client.get_workflow_handle(task_id, run_id=run_id)

    async def send(entry: dict[str, Any]) -> None:
        await until_answered(lambda: workflow.signal(wire.EVENTS_SIGNAL, entry), task_id)

    return send


async def until_answered(call: Callable[[], Awaitable[_T]], task_id: str) -> _T:
    """Make a call for a task again and again, until Temporal answers it.

    Raises:
        LogClosedError: Temporal has no such run, or it is closed.
        LogFullError: The run takes no more signals.
        temporalio.service.RPCError: Temporal will never take the call as it is.
    """
    pause = _SHORTEST_PAUSE
    while True:
        try:
            return await call()
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                raise LogClosedError(task_id) from error
            if wire.OUT_OF_SIGNALS in error.message:
                logger.error("Task %s: %s", task_id, error.message)
                raise LogFullError from error
            if error.status == RPCStatusCode.INVALID_ARGUMENT:
                raise
            logger.warning("Temporal did not answer for task %s yet: %s", task_id, error.status)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


class Pace:
    """When the next batch of a turn, or of an activity that publishes, is due.

    Args:
        interval: The pause between the first batches.
        sent: How many batches earlier attempts have sent.

    Attributes:
        sent: How many were sent in all. Temporal counts the signals of a run, whose attempts are
            in it together.
    """

    def __init__(self, interval: timedelta, *, sent: int = 0) -> None:
        self.sent = sent
        self._interval = interval.total_seconds()
        self._due = 0.0

    @property
    def left(self) -> float:
        """Return in how many seconds the next batch is due."""
        return self._due - time.monotonic()

    def count(self) -> None:
        """Count a batch that leaves now.

        Time not used is saved up for a few batches, so that events leave at once unless the agent
        is faster than the interval for a while.
        """
        self.sent += 1
        pause = self.pause_after(self.sent)
        self._due = max(self._due + pause, time.monotonic() - _SAVED_BATCHES * pause)

    def pause_after(self, batches: int) -> float:
        """Return the pause in seconds that follows a turn's n-th batch, of all its attempts.

        Each batch is a signal and costs four events of history, and Temporal takes 10,000 and
        51,200 of them: the pause doubles so often that a day of streaming fits, with room for a
        thousand batches that did not wait, the turns before in this run, and messages that come.
        """
        return self._interval * 2 ** (batches / _DOUBLING_BATCHES)
