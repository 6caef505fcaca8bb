"""The workflow that delivers a task's push notifications, to each config on its own.

It is a child of the task's workflow, ``<task id>/push/<n>``, one for each run of the task. The task
notifies it when its log has grown. However the task's run closes, Temporal asks the child to
cancel: that means "read the log to its end, deliver, finish" or, when the task goes on in another
run, "hand over to the next child". Back-off is the retry policy of the activity that delivers, so a
dead receiver costs neither history nor worker while it is dead.

Deliveries run on a task queue of their own. The two other activities are short and local.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy, SearchAttributeKey
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    RetryState,
    is_cancelled_exception,
)

with workflow.unsafe.imports_passed_through():
    from a2a_temporal import errors
    from a2a_temporal._log import wire
    from a2a_temporal._log.entries import now_text
    from a2a_temporal._push_options import PushOptions
    from a2a_temporal._reading.position import LogPosition
    from a2a_temporal._worker.push.contract import (
        ATTEMPT_SECONDS,
        Configs,
        DeliverInput,
        DeliverResult,
        Delivery,
        LogEnd,
        PushEnd,
        PushStart,
    )

PUSH_OPTIONS_FUNCTION = "a2a_push_options"
"""Extern function through which the plugin hands its ``PushOptions`` to the workflow."""

_HEARTBEAT_TIMEOUT = timedelta(seconds=5)
_SHORT_ACTIVITY = timedelta(seconds=30)
_HANDOVER_ATTEMPTS = 15
_LONGEST_READING = timedelta(minutes=10)
_SHORTEST_AGE = timedelta(seconds=1)
_LOG_END_WITHIN = timedelta(seconds=1)
_STATE = SearchAttributeKey.for_keyword(wire.STATE_ATTRIBUTE)


@dataclass
class _Running:
    """The deliveries to one config while this workflow makes them.

    ``told`` is the number of the notification that its last attempt has taken into account;
    ``at_end`` says that nothing can follow; ``attempt`` is the activity that is under way.
    """

    delivery: Delivery
    told: int = 0
    at_end: bool = False
    attempt: workflow.ActivityHandle[DeliverResult] | None = None

    @property
    def at_rest(self) -> bool:
        return self.at_end or bool(self.delivery.given_up)

    def start_again(self) -> None:
        """End the attempt that is under way or waits for its turn; another one starts."""
        self.told, self.at_end = 0, False
        if self.attempt is not None:
            self.attempt.cancel()

    def revive(self) -> bool:
        """Deliver again what was given up; says whether it was."""
        was_given_up = bool(self.delivery.given_up)
        self.delivery.given_up = self.delivery.failing_since = ""
        self.told, self.at_end = 0, False
        return was_given_up


@workflow.defn(name=wire.PUSH_WORKFLOW, sandboxed=False)
class PushWorkflow:
    """Deliveries of one run of a task.

    Outside the sandbox: the code is the library's own and reads neither clock nor environment.
    """

    @workflow.init
    def __init__(self, start: PushStart) -> None:
        self._start = start
        self._options: PushOptions = workflow.extern_functions()[PUSH_OPTIONS_FUNCTION]()
        self._configs: Configs = dict(start.configs)
        self._running = {each.config_id: _Running(each) for each in start.deliveries}
        self._loops: dict[str, asyncio.Task[None]] = {}
        self._deleted: set[str] = set()
        self._notified = 1
        self._closed: Configs | None = None
        self._closing = False
        self._stopping = False
        self._cancel_requested = start.closing

    @workflow.signal(name=wire.PUSH_NOTIFY_SIGNAL)
    def notify(self, configs: Configs) -> None:
        """Note that the log has grown, and which configs it now has.

        After the close it is ignored: it was sent before, and the log has been read to its end.
        """
        if not self._closing:
            self._configs = configs
            self._notified += 1

    @workflow.signal(name=wire.PUSH_CONFIG_SIGNAL)
    def delete(self, entry: dict[str, Any]) -> None:
        """Drop a config: sent here once the task has ended, as its own log takes no more."""
        self._deleted.add(str(entry.get("delete", "")))
        self._notified += 1

    @workflow.signal(name=wire.PUSH_REDELIVER_SIGNAL)
    def redeliver(self, config_ids: list[str]) -> None:
        """Try again to deliver the dead letters of some configs; of all when none is named."""
        for config_id, running in self._running.items():
            if running.delivery.given_up and (not config_ids or config_id in config_ids):
                self._revive(running)
        self._notified += 1

    @workflow.query(name=wire.PUSH_QUERY)
    def deliveries(self) -> list[Delivery]:
        """Return how far the deliveries to each config have got."""
        return [running.delivery for running in self._running.values()]

    @workflow.run
    async def run(self, start: PushStart) -> PushEnd:
        """Deliver until the task's run has closed and everything is delivered or given up."""
        serving = asyncio.create_task(self._serve())
        while not serving.done():
            try:
                await asyncio.shield(serving)
            except asyncio.CancelledError:
                self._cancel_requested = True
        return serving.result()

    async def _serve(self) -> PushEnd:
        if self._start.previous and not self._start.deliveries:
            await self._take_over(self._start.previous)
        if any(running.delivery.given_up for running in self._running.values()):
            self._publish()
        await self._serve_configs(lambda: self._cancel_requested)
        log_end = await self._log_end()
        self._configs = log_end.configs
        if log_end.end == "continued":
            await self._stop()
            # Also the configs of the run's last moments, of which no signal told.
            self._match_configs()
            return PushEnd(self.deliveries())
        self._closing = True
        self._notified += 1
        await self._serve_configs(self._all_at_rest)
        await self._stop()
        end = PushEnd(self.deliveries())
        dead = sorted(each.config_id for each in end.deliveries if each.given_up)
        if dead:
            raise ApplicationError(
                f"Push notifications were not delivered to: {', '.join(dead)}",
                end,
                type=errors.PUSH_GIVEN_UP,
                non_retryable=True,
            )
        return end

    async def _serve_configs(self, over: Callable[[], bool]) -> None:
        """Deliver to each config that is set until ``over``."""
        matched = 0
        while not over():
            if matched != self._notified:
                matched = self._notified
                self._match_configs()
            await workflow.wait_condition(
                lambda known=matched: over() or known != self._notified or _renewal_due()
            )
            if _renewal_due() and not over():
                await self._renew()

    def _match_configs(self) -> None:
        """Let there be one delivery for each config that is set, of its present revision."""
        for config_id in self._deleted:
            self._configs.pop(config_id, None)
        for config_id in sorted(set(self._running) - set(self._configs)):
            running = self._running.pop(config_id)
            running.start_again()
            if running.delivery.given_up:
                self._publish()
        for config_id, (since, revision) in sorted(self._configs.items()):
            running = self._running.get(config_id)
            if running is None or running.delivery.since != since:
                if running is not None:
                    running.start_again()
                delivery = Delivery(config_id, since, revision, LogPosition(self._start.run_id))
                self._running[config_id] = _Running(delivery)
            elif running.delivery.revision != revision:
                running.delivery.revision = revision
                self._revive(running)
                running.start_again()
            if config_id not in self._loops:
                self._loops[config_id] = asyncio.create_task(self._serve_config(config_id))

    async def _serve_config(self, config_id: str) -> None:
        """Deliver to one config whenever there may be something new."""
        while not self._stopping:
            await workflow.wait_condition(lambda: self._stopping or self._has_work(config_id))
            if not self._stopping:
                running = self._running[config_id]
                running.told = self._notified
                await self._deliver(running)

    def _has_work(self, config_id: str) -> bool:
        running = self._running.get(config_id)
        return running is not None and not running.at_rest and running.told != self._notified

    async def _deliver(self, running: _Running) -> None:
        """Run the activity until the log is delivered, with the receiver's failures in between."""
        delivery = running.delivery
        while not self._stopping and self._running.get(delivery.config_id) is running:
            closing, began = self._closing, workflow.now()
            try:
                result = await self._attempt(running)
            except ActivityError as error:
                delivery.failing_since = delivery.failing_since or now_text(began)
                if _was_interrupted(error):
                    continue
                self._give_up(delivery, error)
                return
            if result.position != delivery.position or result.outcome != "more":
                delivery.position = result.position
                delivery.failing_since = ""
            if result.outcome != "more":
                self._closed = result.closed or self._closed
                running.at_end = closing or result.closed is not None
                return

    async def _attempt(self, running: _Running) -> DeliverResult:
        options, delivery = self._options, running.delivery
        age = timedelta(0)
        if delivery.failing_since:
            since = datetime.fromisoformat(delivery.failing_since.replace("Z", "+00:00"))
            age = workflow.now() - since
        running.attempt = workflow.start_activity(
            wire.PUSH_DELIVER_ACTIVITY,
            DeliverInput(
                task_id=self._start.task_id,
                run_id=self._start.run_id,
                config_id=delivery.config_id,
                since=delivery.since,
                position=delivery.position,
            ),
            result_type=DeliverResult,
            task_queue=wire.push_task_queue(workflow.info().task_queue),
            start_to_close_timeout=(
                _LONGEST_READING + timedelta(seconds=2 * ATTEMPT_SECONDS) + options.timeout
            ),
            schedule_to_close_timeout=max(options.maximum_age - age, _SHORTEST_AGE),
            heartbeat_timeout=_HEARTBEAT_TIMEOUT,
            retry_policy=RetryPolicy(
                initial_interval=options.initial_interval,
                backoff_coefficient=options.backoff,
                maximum_interval=max(options.maximum_interval, options.initial_interval),
                # Not by attempts: not all reach the receiver. The activity counts those that do.
            ),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=f"Deliver to {delivery.config_id}",
        )
        try:
            return await running.attempt
        finally:
            running.attempt = None

    def _give_up(self, delivery: Delivery, error: ActivityError) -> None:
        delivery.given_up = _reason(error)
        workflow.logger.warning(
            "Gave up push config %s of task %s: %s",
            delivery.config_id,
            self._start.task_id,
            delivery.given_up,
        )
        self._publish()

    def _revive(self, running: _Running) -> None:
        if running.revive():
            self._publish()

    def _publish(self) -> None:
        """Show operators which configs have dead letters."""
        dead = [asdict(each) for each in self.deliveries() if each.given_up]
        workflow.upsert_memo({wire.PUSH_MEMO: dead})
        if self._start.search_attributes:
            workflow.upsert_search_attributes(
                [_STATE.value_set(wire.PUSH_DEAD_LETTERS if dead else wire.PUSH_DELIVERING)]
            )

    def _all_at_rest(self) -> bool:
        return set(self._running) == set(self._configs) and all(
            running.at_rest for running in self._running.values()
        )

    async def _stop(self) -> None:
        """End the attempts that are under way, each with the notification it is about to send."""
        self._stopping = True
        for running in self._running.values():
            if running.attempt is not None:
                running.attempt.cancel()
        if self._loops:
            await asyncio.wait(list(self._loops.values()))

    async def _renew(self) -> None:
        await self._stop()
        workflow.continue_as_new(
            PushStart(
                task_id=self._start.task_id,
                run_id=self._start.run_id,
                number=self._start.number,
                configs=self._configs,
                deliveries=self.deliveries(),
                closing=self._cancel_requested,
                search_attributes=self._start.search_attributes,
            )
        )

    async def _take_over(self, previous: str) -> None:
        """Begin where the delivery workflow of the task's previous run has ended."""
        try:
            end = await workflow.execute_local_activity(
                wire.PUSH_RESUME_ACTIVITY,
                previous,
                result_type=PushEnd,
                start_to_close_timeout=2 * _SHORT_ACTIVITY,
                # Not by the clock: without a worker the previous one cannot end either.
                retry_policy=RetryPolicy(maximum_attempts=_HANDOVER_ATTEMPTS),
                summary="Take over from the previous run",
            )
        except ActivityError:
            workflow.logger.exception("Nothing could be taken over from %s", previous)
            return
        self._running = {each.config_id: _Running(each) for each in end.deliveries}

    async def _log_end(self) -> LogEnd:
        """Return how the log goes on; a delivery that is under way may be about to read it."""
        with contextlib.suppress(asyncio.TimeoutError):
            await workflow.wait_condition(
                lambda: self._closed is not None or not self._under_way(), timeout=_LOG_END_WITHIN
            )
        if self._closed is not None:
            return LogEnd(self._closed, "closed")
        return await workflow.execute_local_activity(
            wire.PUSH_LOG_END_ACTIVITY,
            self._start,
            result_type=LogEnd,
            start_to_close_timeout=_SHORT_ACTIVITY,
            summary="Read the end of the log",
        )

    def _under_way(self) -> bool:
        return any(running.attempt is not None for running in self._running.values())


def _renewal_due() -> bool:
    return workflow.info().is_continue_as_new_suggested()


def _was_interrupted(error: ActivityError) -> bool:
    """Say whether an attempt ended because it was canceled, even if it failed just before."""
    return is_cancelled_exception(error) or error.retry_state == RetryState.CANCEL_REQUESTED


def _reason(error: ActivityError) -> str:
    """Return what the last attempt said of the receiver."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ApplicationError):
            return cause.message
        cause = cause.__cause__
    return "no worker made an attempt in time"
