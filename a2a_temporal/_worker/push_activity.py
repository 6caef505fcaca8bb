"""The activities of the delivery workflow: deliver to one config, read the end, take over.

A delivery reads everything from the log: the events, and the config with its credentials, which
thus reach neither the workflow nor its history. A failed attempt is a failed activity; Temporal's
retries are the back-off, so they survive every restart.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from temporalio import activity
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal import errors
from a2a_temporal._executions import described
from a2a_temporal._log import wire
from a2a_temporal._log.state import PushConfig
from a2a_temporal._net import UrlGuard, UrlRefusedError
from a2a_temporal._push_options import PushOptions
from a2a_temporal._worker.push_lane import (
    ATTEMPT_SECONDS,
    Delivered,
    Delivery,
    Outcome,
    PushEnd,
    Question,
    Survey,
    configs_of,
    parse_lanes,
)
from a2a_temporal._worker.push_log import (
    Notice,
    Position,
    PushLog,
    PushLogs,
    present_configs,
)
from a2a_temporal._worker.push_request import NotDeliveredError, Receiver, new_connection
from a2a_temporal._worker.push_room import PushRoom

logger = logging.getLogger("a2a_temporal.push")

_BEAT_SECONDS = 3.0
# What an attempt has told since its last heartbeat is told again when its worker is lost.
_ATTACHED_SECONDS = 10.0
_SHORTEST_WAIT = 0.05
_SHORT_RPC = timedelta(seconds=10)
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
        self._logs = PushLogs()
        self._room = PushRoom(options.concurrency)

    @activity.defn(name=wire.PUSH_DELIVER_ACTIVITY)
    async def deliver(self, delivery: Delivery) -> Delivered:
        """Tell one config's receiver what it has not been told yet, in order."""
        progress = _resumed(delivery.position)
        try:
            async with progress.beating():
                return await self._deliver(delivery, progress)
        except asyncio.CancelledError:
            if progress.position != delivery.position:
                return Delivered("more", progress.position)
            if not _is_shutdown():
                raise
            raise ApplicationError(
                "The worker was shut down under a delivery",
                type=errors.WORKER_SHUTDOWN,
                next_retry_delay=_SOON,
            ) from None

    @activity.defn(name=wire.PUSH_SURVEY_ACTIVITY)
    async def survey(self, question: Question) -> Survey:
        """Read the log to its end and say what end it is."""
        client = activity.client()
        log = await self._logs.read(
            client, question.task_id, run_ids=[question.run_id], thoroughly=True
        )
        configs = configs_of(log.state)
        if log.continued and not (log.closed and await _is_last(client, question)):
            return Survey(configs, "continued")
        return Survey(configs, "closed" if log.closed else "open")

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
        known = await workflow.query(wire.PUSH_QUERY, rpc_timeout=_SHORT_RPC)
        return PushEnd(parse_lanes(cast("list[dict[str, Any]]", known)))

    async def _deliver(self, delivery: Delivery, progress: "_Progress") -> Delivered:
        """Deliver what the log holds, and what it gets while the task is at work."""
        run: _Run | None = None
        end: Position | None = None
        began = time.monotonic()
        async with contextlib.AsyncExitStack() as connections:
            while True:
                log = await self._read(delivery, progress.position)
                if log.next == end:
                    await asyncio.sleep(_SHORTEST_WAIT)
                push = (await present_configs(activity.client(), log)).get(delivery.config_id)
                if push is None or push.since != delivery.since:
                    return Delivered("deleted", progress.position)
                # Both at once: others read on in the same log while this one waits for its place.
                notices, end = log.pending(push, progress.position), log.next
                if notices:
                    if run is None or run.push != push:
                        run = _Run(self._options, self._guard, push, delivery, progress)
                        await connections.enter_async_context(run)
                    async with self._room.place(failing=activity.info().attempt > 1) as has_place:
                        if not has_place:
                            return _busy(delivery, progress.position)
                        outcome = await run.deliver(notices, began + ATTEMPT_SECONDS)
                    if outcome != "delivered":
                        return Delivered(outcome, progress.position)
                if not await self._grown(log, began + _ATTACHED_SECONDS):
                    ended = log.closed and not log.continued
                    return Delivered("delivered", end, configs_of(log.state) if ended else None)

    async def _grown(self, log: PushLog, until: float) -> bool:
        """Wait until the log of a task that is at work has grown; says whether it has.

        Only a few deliveries of a worker wait so. The others return and are called again.
        """
        left = until - time.monotonic()
        if left <= 0 or not (log.at_work and log.light):
            return False
        with self._room.attached() as attached:
            if not attached:
                return False
            growing = asyncio.create_task(log.grown(timedelta(seconds=left)))
            stopping = asyncio.create_task(activity.wait_for_worker_shutdown())
            try:
                await asyncio.wait([growing, stopping], return_when=asyncio.FIRST_COMPLETED)
                return growing.done() and growing.result()
            finally:
                growing.cancel()
                stopping.cancel()

    async def _read(self, delivery: Delivery, position: Position) -> PushLog:
        try:
            return await self._logs.read(
                activity.client(),
                delivery.task_id,
                run_ids=_distinct(position.run_id, delivery.run_id),
                thoroughly=delivery.closing,
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

    position: Position
    failures: int = 0

    def beat(self) -> None:
        position = self.position
        activity.heartbeat([position.run_id, position.event_id, position.index], self.failures)

    @contextlib.asynccontextmanager
    async def beating(self) -> AsyncGenerator[None]:
        """Say it again and again, as whoever says nothing counts as lost."""

        async def beat() -> None:
            while True:
                self.beat()
                await asyncio.sleep(_BEAT_SECONDS)

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            beating.cancel()


class _Run:
    """One attempt at telling one receiver; holds its connection."""

    def __init__(
        self,
        options: PushOptions,
        guard: UrlGuard,
        push: PushConfig,
        delivery: Delivery,
        progress: _Progress,
    ) -> None:
        self.push = push
        self._options = options
        self._guard = guard
        self._delivery = delivery
        self._progress = progress
        self._stopping = False
        self._connection = contextlib.AsyncExitStack()
        self._receiver: Receiver | None = None

    async def __aenter__(self) -> "_Run":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.aclose()

    async def deliver(self, notices: list[Notice], until: float) -> Outcome:
        try:
            return await self._to_the_end(self._tell(notices, until))
        except UrlRefusedError as refusal:
            # Read by operators alone, who may know why.
            why = f" ({refusal.__cause__})" if refusal.__cause__ else ""
            return self._failed(NotDeliveredError(f"not sent: {refusal}{why}"))
        except NotDeliveredError as failure:
            return self._failed(failure)

    async def _to_the_end(self, telling: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Let a canceled attempt finish the notification under way, lest it be told twice.

        Not when the worker shuts down: it has waited already.
        """
        task = asyncio.create_task(telling)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._stopping = True
            if _is_shutdown():
                task.cancel()
                await asyncio.wait([task])
                raise
            return await task

    async def _tell(self, notices: list[Notice], until: float) -> Outcome:
        receiver = await self._connected()
        for notice in notices:
            if self._stopping or activity.is_worker_shutdown() or time.monotonic() > until:
                return "more"
            await receiver.tell(notice)
            self._progress.position = notice.after
            self._progress.beat()
        return "more" if self._stopping else "delivered"

    async def _connected(self) -> Receiver:
        if self._receiver is None:
            config = self.push.config
            destination = await self._guard.check(config.url)
            connection = await self._connection.enter_async_context(new_connection(destination))
            self._receiver = Receiver(config, destination, self._options, connection)
        return self._receiver

    def _failed(self, failure: NotDeliveredError) -> Outcome:
        """End a failed attempt; what it delivered before must not be delivered again."""
        logger.info(
            "Push config %s of task %s, attempt %d: %s",
            self._delivery.config_id,
            self._delivery.task_id,
            activity.info().attempt,
            failure,
        )
        if self._progress.position != self._delivery.position:
            return "failed"
        if self._stopping:
            raise asyncio.CancelledError
        self._progress.failures += 1
        self._progress.beat()
        most = self._options.maximum_attempts
        final = failure.final or (most is not None and self._progress.failures >= most)
        pause = failure.retry_after
        raise ApplicationError(
            str(failure),
            type=errors.PUSH_GIVEN_UP if final else errors.PUSH_FAILED,
            non_retryable=final,
            next_retry_delay=min(pause, self._options.maximum_interval) if pause else None,
            # Receivers fail; that is no news of the worker. The line above says what is to be said.
            category=ApplicationErrorCategory.BENIGN,
        ) from None


def _busy(delivery: Delivery, position: Position) -> Delivered:
    """Leave the slot to others; a lane that is backing off keeps its pace."""
    if activity.info().attempt == 1 or position != delivery.position:
        return Delivered("busy", position)
    raise ApplicationError(
        "The worker waits for too many receivers already",
        type=errors.PUSH_FAILED,
        next_retry_delay=_BUSY_PAUSE,
        category=ApplicationErrorCategory.BENIGN,
    )


def _resumed(position: Position) -> _Progress:
    """Return where the attempts before this one had got to, as their last heartbeat says."""
    details = activity.info().heartbeat_details
    if not details:
        return _Progress(position)
    run_id, event_id, index = details[0]
    failures = int(details[1]) if len(details) > 1 else 0
    return _Progress(Position(run_id, int(event_id), int(index)), failures)


def _is_shutdown() -> bool:
    """Say whether the activity is canceled because its worker shuts down."""
    details = activity.cancellation_details()
    return details is not None and details.worker_shutdown


def _distinct(*run_ids: str) -> list[str]:
    return list(dict.fromkeys(run_ids))


async def _is_last(client: Client, question: Question) -> bool:
    """Say whether no delivery workflow follows, because the task's next run never got to it."""
    following = wire.push_workflow_id(question.task_id, question.number + 1)
    try:
        await described(client, following, timeout=_SHORT_RPC)
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return True
        raise
    return False
