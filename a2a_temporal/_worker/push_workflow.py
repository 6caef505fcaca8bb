"""The workflow that delivers a task's push notifications: one lane for each config.

It is a child of the task's workflow, ``<task id>/push/<n>``, one for each run of the task. The task
pokes it when its log has grown. However the task's run closes, Temporal asks the child to cancel:
that means "read the log to its end, deliver, finish" or, when the task goes on in another run,
"hand over to the next child". A lane's back-off is the retry policy of its activity, so a dead
receiver costs neither history nor worker while it is dead.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import asdict
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
    from a2a_temporal._worker.push_lane import (
        ATTEMPT_SECONDS,
        Configs,
        Delivered,
        Delivery,
        Lane,
        PushEnd,
        PushStart,
        Question,
        Survey,
    )
    from a2a_temporal._worker.push_log import Position

PUSH_OPTIONS_FUNCTION = "a2a_push_options"
"""Extern function through which the plugin hands its ``PushOptions`` to the workflow."""

_HEARTBEAT_TIMEOUT = timedelta(seconds=15)
_SHORT_ACTIVITY = timedelta(seconds=30)
_HANDOVER_ATTEMPTS = 15
_LONGEST_READING = timedelta(minutes=10)
_SHORTEST_AGE = timedelta(seconds=1)
_LOG_END_WITHIN = timedelta(seconds=1)
_LONGEST_BUSY_PAUSE = 30.0
_STATE = SearchAttributeKey.for_keyword(wire.STATE_ATTRIBUTE)


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
        self._lanes: dict[str, Lane] = {lane.config_id: lane for lane in start.lanes}
        self._runners: dict[str, asyncio.Task[None]] = {}
        self._attempts: dict[str, workflow.ActivityHandle[Delivered]] = {}
        self._told: dict[str, int] = {}
        self._finished: set[str] = set()
        self._deleted: set[str] = set()
        self._pokes = 1
        self._matched = 0
        self._closed: Configs | None = None
        self._closing = False
        self._stopping = False
        self._cancel_requested = start.closing

    @workflow.signal(name=wire.PUSH_POKE_SIGNAL)
    def poke(self, configs: Configs) -> None:
        """Note that the log has grown, and which configs it now has.

        One that comes after the close was sent before it, and knows no better than the survey.
        """
        if not self._closing:
            self._configs = configs
        self._pokes += 1

    @workflow.signal(name=wire.PUSH_CONFIG_SIGNAL)
    def delete(self, entry: dict[str, Any]) -> None:
        """Drop a config: sent here once the task has ended, as its own log takes no more."""
        self._deleted.add(str(entry.get("delete", "")))
        self._pokes += 1

    @workflow.signal(name=wire.PUSH_REDELIVER_SIGNAL)
    def redeliver(self, config_ids: list[str]) -> None:
        """Try again to deliver the dead letters of some configs; of all when none is named."""
        for config_id, lane in self._lanes.items():
            if lane.given_up and (not config_ids or config_id in config_ids):
                self._revive(lane)
        self._pokes += 1

    @workflow.query(name=wire.PUSH_QUERY)
    def lanes(self) -> list[Lane]:
        """Return how far the deliveries to each config have got."""
        return list(self._lanes.values())

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
        if self._start.previous and not self._start.lanes:
            await self._take_over(self._start.previous)
        if any(lane.given_up for lane in self._lanes.values()):
            self._publish()
        await self._keep_lanes(lambda: self._cancel_requested)
        survey = await self._log_end()
        self._configs = survey.configs
        if survey.end == "continued":
            await self._stop_lanes()
            # Also those of the run's last moments, of which no poke told.
            self._match_lanes()
            return PushEnd(list(self._lanes.values()))
        self._closing = True
        self._pokes += 1
        await self._keep_lanes(self._all_at_rest)
        await self._stop_lanes()
        end = PushEnd(list(self._lanes.values()))
        dead = sorted(lane.config_id for lane in end.lanes if lane.given_up)
        if dead:
            raise ApplicationError(
                f"Push notifications were not delivered to: {', '.join(dead)}",
                end,
                type=errors.PUSH_GIVEN_UP,
                non_retryable=True,
            )
        return end

    async def _keep_lanes(self, over: Callable[[], bool]) -> None:
        """Keep a lane running for each config until ``over``."""
        while not over():
            if self._matched != self._pokes:
                self._matched = self._pokes
                self._match_lanes()
            await workflow.wait_condition(
                lambda: over() or self._matched != self._pokes or _renewal_due()
            )
            if _renewal_due() and not over():
                await self._renew()

    def _match_lanes(self) -> None:
        """Let there be one lane for each config that is set, of its present revision."""
        for config_id in self._deleted:
            self._configs.pop(config_id, None)
        for config_id in sorted(set(self._lanes) - set(self._configs)):
            lane = self._lanes.pop(config_id)
            self._interrupt(config_id)
            if lane.given_up:
                self._publish()
        for config_id, (since, revision) in sorted(self._configs.items()):
            lane = self._lanes.get(config_id)
            if lane is None or lane.since != since:
                lane = Lane(config_id, since, revision, Position(self._start.run_id))
                self._lanes[config_id] = lane
                self._interrupt(config_id)
            elif lane.revision != revision:
                lane.revision = revision
                self._revive(lane)
                self._interrupt(config_id)
            if config_id not in self._runners:
                self._runners[config_id] = asyncio.create_task(self._run_lane(config_id))

    async def _run_lane(self, config_id: str) -> None:
        while not self._stopping:
            await workflow.wait_condition(lambda: self._stopping or self._has_work(config_id))
            if not self._stopping:
                self._told[config_id] = self._pokes
                await self._deliver(self._lanes[config_id])

    def _has_work(self, config_id: str) -> bool:
        lane = self._lanes.get(config_id)
        if lane is None or lane.given_up or config_id in self._finished:
            return False
        return self._told.get(config_id) != self._pokes

    async def _deliver(self, lane: Lane) -> None:
        """Run the activity until the log is delivered, with the receiver's failures in between."""
        pause = 1.0
        while not self._stopping and self._lanes.get(lane.config_id) is lane:
            closing = self._closing
            began = workflow.now()
            try:
                delivered = await self._attempt(lane, closing=closing)
            except ActivityError as error:
                lane.failing_since = lane.failing_since or now_text(began)
                if _was_interrupted(error):
                    continue
                self._give_up(lane, error)
                return
            if delivered.position != lane.position:
                lane.position = delivered.position
                lane.failing_since = ""
            if delivered.outcome == "busy":
                await self._pause(pause)
                pause = min(pause * 2, _LONGEST_BUSY_PAUSE)
            elif delivered.outcome in ("delivered", "deleted"):
                lane.failing_since = ""
                self._closed = delivered.closed or self._closed
                if closing or delivered.closed is not None:
                    self._finished.add(lane.config_id)
                return

    async def _attempt(self, lane: Lane, *, closing: bool) -> Delivered:
        options = self._options
        age = timedelta(0)
        if lane.failing_since:
            age = workflow.now() - datetime.fromisoformat(lane.failing_since.replace("Z", "+00:00"))
        handle = workflow.start_activity(
            wire.PUSH_DELIVER_ACTIVITY,
            Delivery(
                task_id=self._start.task_id,
                run_id=self._start.run_id,
                config_id=lane.config_id,
                since=lane.since,
                position=lane.position,
                closing=closing,
            ),
            result_type=Delivered,
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
            summary=f"Deliver to {lane.config_id}",
        )
        self._attempts[lane.config_id] = handle
        try:
            return await handle
        finally:
            self._attempts.pop(lane.config_id, None)

    async def _pause(self, seconds: float) -> None:
        """Wait a while, but not when the lanes are to stop."""
        try:
            await workflow.wait_condition(lambda: self._stopping, timeout=seconds)
        except asyncio.TimeoutError:
            return

    def _interrupt(self, config_id: str) -> None:
        """End the attempt that is under way, or waits for its turn; the lane starts another."""
        self._finished.discard(config_id)
        self._told.pop(config_id, None)
        attempt = self._attempts.get(config_id)
        if attempt is not None:
            attempt.cancel()

    def _give_up(self, lane: Lane, error: ActivityError) -> None:
        lane.given_up = _reason(error)
        workflow.logger.warning(
            "Gave up push config %s of task %s: %s",
            lane.config_id,
            self._start.task_id,
            lane.given_up,
        )
        self._publish()

    def _revive(self, lane: Lane) -> None:
        was_given_up = bool(lane.given_up)
        lane.given_up = lane.failing_since = ""
        self._told.pop(lane.config_id, None)
        self._finished.discard(lane.config_id)
        if was_given_up:
            self._publish()

    def _publish(self) -> None:
        """Show operators which configs have dead letters."""
        dead = [asdict(lane) for lane in self._lanes.values() if lane.given_up]
        workflow.upsert_memo({wire.PUSH_MEMO: dead})
        if self._start.search_attributes:
            workflow.upsert_search_attributes(
                [_STATE.value_set(wire.PUSH_DEAD_LETTERS if dead else wire.PUSH_DELIVERING)]
            )

    def _all_at_rest(self) -> bool:
        return all(
            lane.given_up or lane.config_id in self._finished for lane in self._lanes.values()
        ) and set(self._lanes) == set(self._configs)

    async def _stop_lanes(self) -> None:
        self._stopping = True
        for attempt in self._attempts.values():
            attempt.cancel()
        if self._runners:
            await asyncio.wait(list(self._runners.values()))

    async def _renew(self) -> None:
        await self._stop_lanes()
        workflow.continue_as_new(
            PushStart(
                task_id=self._start.task_id,
                run_id=self._start.run_id,
                number=self._start.number,
                configs=self._configs,
                lanes=list(self._lanes.values()),
                closing=self._cancel_requested,
                search_attributes=self._start.search_attributes,
            )
        )

    async def _take_over(self, previous: str) -> None:
        """Begin where the delivery workflow of the task's previous run has ended."""
        try:
            end = await workflow.execute_activity(
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
        self._lanes = {lane.config_id: lane for lane in end.lanes}

    async def _log_end(self) -> Survey:
        """Return how the log goes on; a delivery that is under way may be about to read it."""
        with contextlib.suppress(asyncio.TimeoutError):
            await workflow.wait_condition(
                lambda: self._closed is not None or not self._attempts, timeout=_LOG_END_WITHIN
            )
        if self._closed is not None:
            return Survey(self._closed, "closed")
        return await self._survey()

    async def _survey(self) -> Survey:
        return await workflow.execute_activity(
            wire.PUSH_SURVEY_ACTIVITY,
            Question(self._start.task_id, self._start.run_id, self._start.number),
            result_type=Survey,
            start_to_close_timeout=_SHORT_ACTIVITY,
            summary="Read the end of the log",
        )


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
