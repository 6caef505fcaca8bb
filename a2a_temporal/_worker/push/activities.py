"""The activities of the delivery workflow: deliver to one config, read the end, take over.

A delivery reads everything from the log: the events, and the config with its credentials, which
thus reach neither the workflow nor its history. A failed attempt is a failed activity; Temporal's
retries are the back-off, so they survive every restart.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Coroutine, Generator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from temporalio import activity
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal import errors
from a2a_temporal._gateway import CALL_TIMEOUT, Gateway, is_missing_workflow
from a2a_temporal._log import wire
from a2a_temporal._net import UrlGuard
from a2a_temporal._push_options import PushOptions
from a2a_temporal._reading.position import LogPosition
from a2a_temporal._worker.push.contract import (
    ATTEMPT_SECONDS,
    DeliverInput,
    DeliverResult,
    LogEnd,
    PushEnd,
    PushStart,
    configs_of,
    parse_deliveries,
)
from a2a_temporal._worker.push.notifications import (
    Notification,
    NotificationLog,
    NotificationLogs,
    present_configs,
)
from a2a_temporal._worker.push.request import NotDeliveredError, Receiver, connected

logger = logging.getLogger("a2a_temporal.push")

_BEAT_SECONDS = 2.0
_WAIT_SECONDS = 10.0
_SHORTEST_WAIT = 0.05
_BUSY_PAUSE = timedelta(seconds=2)
_SOON = timedelta(milliseconds=1)


class PushActivities:
    """The activities of push notifications, for ``Worker(activities=...)``.

    Args:
        options: Limits of the deliveries.
        guard: Decides where notifications may go; the one of the options when None.
    """

    def __init__(self, options: PushOptions, *, guard: UrlGuard | None = None) -> None:
        self._options = options
        self._guard = guard or options.guard()
        self._logs = NotificationLogs()
        self._under_way = 0
        self._retries = 0

    @activity.defn(name=wire.PUSH_DELIVER_ACTIVITY)
    async def deliver(self, given: DeliverInput) -> DeliverResult:
        """Send one config's receiver what it has not got yet, in order."""
        progress = _resumed(given.position)
        try:
            async with progress.beating():
                with self._slot(retry=activity.info().attempt > 1):
                    return await self._deliver(given, progress)
        except asyncio.CancelledError:
            if progress.position != given.position:
                return DeliverResult("more", progress.position)
            if not _is_shutdown():
                raise
            raise ApplicationError(
                "The worker was shut down under a delivery",
                type=errors.WORKER_SHUTDOWN,
                next_retry_delay=_SOON,
            ) from None

    @activity.defn(name=wire.PUSH_LOG_END_ACTIVITY)
    async def log_end(self, start: PushStart) -> LogEnd:
        """Read the log after a delivery workflow's own run to its end, and say what end it is."""
        client = activity.client()
        log = await self._logs.read(client, start.task_id, run_ids=[start.run_id])
        configs = configs_of(log.state)
        if log.continued and not (log.closed and await _is_last(client, start)):
            return LogEnd(configs, "continued")
        return LogEnd(configs, "closed" if log.closed else "open")

    @activity.defn(name=wire.PUSH_RESUME_ACTIVITY)
    async def resume(self, previous: str) -> PushEnd:
        """Wait for the end of the previous delivery workflow and return what it left."""
        workflow = activity.client().get_workflow_handle(previous, result_type=PushEnd)
        try:
            return await workflow.result()
        except WorkflowFailureError as error:
            cause = error.cause
            if isinstance(cause, ApplicationError) and cause.type == errors.PUSH_GIVEN_UP:
                return PushEnd.parse(cause.details[0])
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return PushEnd()
            raise
        # Terminated by an operator: it still answers what it knew.
        known = await workflow.query(wire.PUSH_QUERY, rpc_timeout=CALL_TIMEOUT)
        return PushEnd(parse_deliveries(cast("list[dict[str, Any]]", known)))

    @contextlib.contextmanager
    def _slot(self, *, retry: bool) -> Generator[None]:
        """Count a delivery; puts a retry off while other retries take half of the slots.

        Receivers that hang thus leave slots to the first attempts of others.
        """
        if retry and self._retries >= max(1, self._options.concurrency // 2):
            raise ApplicationError(
                "The worker waits for too many receivers that have failed already",
                type=errors.PUSH_FAILED,
                next_retry_delay=_BUSY_PAUSE,
                category=ApplicationErrorCategory.BENIGN,
            )
        self._under_way += 1
        self._retries += retry
        try:
            yield
        finally:
            self._under_way -= 1
            self._retries -= retry

    async def _deliver(self, given: DeliverInput, progress: "_Progress") -> DeliverResult:
        """Deliver what the log holds, and what it gets while the task is at work."""
        receiver: Receiver | None = None
        end: LogPosition | None = None
        began = time.monotonic()
        until = began + ATTEMPT_SECONDS
        async with contextlib.AsyncExitStack() as connections:
            while True:
                log = await self._read(given, progress.position)
                if log.next == end:
                    await asyncio.sleep(_SHORTEST_WAIT)
                push = (await present_configs(activity.client(), log)).get(given.config_id)
                if push is None or push.since != given.since:
                    return DeliverResult("deleted", progress.position)
                # Both at once: others read on in the same log while this one sends.
                notifications, end = log.pending(push, progress.position), log.next
                try:
                    for notification in notifications:
                        if activity.is_worker_shutdown() or time.monotonic() > until:
                            return DeliverResult("more", progress.position)
                        if receiver is None or receiver.config != push.config:
                            connecting = connected(push.config, self._guard, self._options)
                            receiver = await connections.enter_async_context(connecting)
                        await _to_the_end(progress.send(notification, receiver))
                except NotDeliveredError as failure:
                    self._note_failure(failure, given, progress)
                    return DeliverResult("more", progress.position)
                if not await self._grown(log, began + _WAIT_SECONDS):
                    ended = log.closed and not log.continued
                    return DeliverResult("delivered", end, configs_of(log.state) if ended else None)

    def _note_failure(
        self, failure: NotDeliveredError, given: DeliverInput, progress: "_Progress"
    ) -> None:
        """Fail the attempt, unless it has delivered something, which must not be sent again."""
        logger.info(
            "Push config %s of task %s, attempt %d: %s",
            given.config_id,
            given.task_id,
            activity.info().attempt,
            failure,
        )
        if progress.position != given.position:
            return
        progress.failures += 1
        progress.beat()
        most = self._options.maximum_attempts
        final = failure.final or (most is not None and progress.failures >= most)
        pause = failure.retry_after
        raise ApplicationError(
            str(failure),
            type=errors.PUSH_GIVEN_UP if final else errors.PUSH_FAILED,
            non_retryable=final,
            next_retry_delay=min(pause, self._options.maximum_interval) if pause else None,
            # Receivers fail; that is no news of the worker. The line above says what is to be said.
            category=ApplicationErrorCategory.BENIGN,
        ) from None

    async def _grown(self, log: NotificationLog, until: float) -> bool:
        """Wait until the log of a task that is at work has grown; says whether it has.

        Only while half of the worker's slots are free. Otherwise the delivery returns, and is
        started again when the task's workflow says that its log has grown.
        """
        left = until - time.monotonic()
        if left <= 0 or not (log.at_work and log.light):
            return False
        if self._under_way > self._options.concurrency // 2 or activity.info().attempt > 1:
            return False
        growing = asyncio.create_task(log.grown(timedelta(seconds=left)))
        stopping = asyncio.create_task(activity.wait_for_worker_shutdown())
        try:
            await asyncio.wait([growing, stopping], return_when=asyncio.FIRST_COMPLETED)
            return growing.done() and growing.result()
        finally:
            growing.cancel()
            stopping.cancel()

    async def _read(self, given: DeliverInput, position: LogPosition) -> NotificationLog:
        try:
            return await self._logs.read(
                activity.client(),
                given.task_id,
                run_ids=_distinct(position.run_id, given.run_id),
            )
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            raise ApplicationError(
                "The log of the task is no longer kept",
                type=errors.PUSH_GIVEN_UP,
                non_retryable=True,
            ) from error


@dataclass
class _Progress:
    """How far the attempts have got, and how often the receiver failed: heartbeats keep it."""

    position: LogPosition
    failures: int = 0

    async def send(self, notification: Notification, receiver: Receiver) -> None:
        await receiver.send(notification)
        self.position = notification.after
        self.beat()

    def beat(self) -> None:
        activity.heartbeat(str(self.position), self.failures)

    @contextlib.asynccontextmanager
    async def beating(self) -> AsyncGenerator[None]:
        """Heartbeat all the time: a delivery without heartbeats counts as lost."""

        async def beat() -> None:
            while True:
                self.beat()
                await asyncio.sleep(_BEAT_SECONDS)

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            beating.cancel()


async def _to_the_end(sending: Coroutine[Any, Any, None]) -> None:
    """Let a canceled attempt finish the notification under way, so that it is sent once.

    Not when the worker shuts down: it has waited already.
    """
    task = asyncio.create_task(sending)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        if _is_shutdown():
            task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # of no interest to a delivery that is canceled
        raise


def _resumed(position: LogPosition) -> _Progress:
    """Return where the attempts before this one had got to, as their last heartbeat says."""
    details = activity.info().heartbeat_details
    if not details:
        return _Progress(position)
    text, failures = details
    return _Progress(LogPosition.parse(text) or position, failures)


def _is_shutdown() -> bool:
    """Say whether the activity is canceled because its worker shuts down."""
    details = activity.cancellation_details()
    return details is not None and details.worker_shutdown


def _distinct(*run_ids: str) -> list[str]:
    return list(dict.fromkeys(run_ids))


async def _is_last(client: Client, start: PushStart) -> bool:
    """Say whether no delivery workflow follows, because the task's next run never got to it."""
    try:
        await Gateway(client).describe(wire.push_workflow_id(start.task_id, start.number + 1))
    except RPCError as error:
        if is_missing_workflow(error):
            return True
        raise
    return False
