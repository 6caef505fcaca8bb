"""Run an ``AgentExecutor`` for a task: one activity for each client message, in order."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    RetryState,
    TimeoutError,
    is_cancelled_exception,
)

with workflow.unsafe.imports_passed_through():
    from a2a.types.a2a_pb2 import Role, TaskState

    from a2a_temporal import errors
    from a2a_temporal._log import wire
    from a2a_temporal._log.protojson import to_json
    from a2a_temporal._worker.agent.turn import TurnInput, end_local_turn
    from a2a_temporal._worker.agent.working_time import worked_in
    from a2a_temporal._worker.failures import client_text
    from a2a_temporal._worker.options import agent_options
    from a2a_temporal._worker.task.task_log import ReceivedMessage, TaskLog

_NO_LIMIT = timedelta(days=3650)
"""Temporal wants one: a worker that is lost is missed by its heartbeats."""

_LONGEST_RETRY_PAUSE = timedelta(minutes=1)
_CANCEL_HOOK_ATTEMPTS = 2
_CANCEL_HOOK_QUEUES = timedelta(minutes=1)
"""How long a task stays as it is for the clean-up, where every worker is busy with turns."""

_CANCEL_HOOK_REST = timedelta(seconds=10)
"""What the hook's activity may take for reading the log and publishing."""


class AgentLoop:
    """The turns of one task's agent.

    Args:
        log: The task's log.
        inbox: Where the messages wait that the agent is to handle.
        continue_as_new: Lets a new run take over, or returns where none may.

    Attributes:
        failure: What Temporal says of the turn that failed the task, if one did.
        running: A turn is under way.
        cleaning: The agent's ``cancel()`` is under way, outside of a turn.
    """

    def __init__(
        self,
        log: TaskLog,
        inbox: deque[ReceivedMessage],
        *,
        continue_as_new: Callable[[], None],
    ) -> None:
        self.failure: ActivityError | None = None
        self._cancel_requested = False
        self._agent_told = False
        self._options = agent_options()
        self._log = log
        self._inbox = inbox
        self._continue_as_new = continue_as_new
        self.running = False
        self.cleaning = False
        self._turns: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Run turns until the task has ended; a cancel is let through once the agent has stopped.

        An agent that has ended the task otherwise by then was not canceled.
        """
        turns = self._turns = asyncio.create_task(self._run_turns())
        try:
            await asyncio.shield(turns)
        except asyncio.CancelledError:
            await self._cancel(turns)
            self._log.agent_turn = 0
            self._log.agent_given_up = True
            state = self._log.state
            if not state.terminal or state.task.status.state == TaskState.TASK_STATE_CANCELED:
                raise
        else:
            if self._cancel_requested and not self._log.state.terminal:
                raise asyncio.CancelledError  # whoever has called this is to end as well

    async def stop(self) -> None:
        """Stop the turn that is under way, unless that was begun, and wait until it has ended."""
        if self._turns is not None:
            self._request_cancel(self._turns)
        await workflow.wait_condition(lambda: not self.running)

    async def clean_up(self) -> None:
        """Let an agent without a turn clean up, unless it has, and wait until it is through."""
        turns = self._turns
        if turns is None or self.running or self._log.state.terminal:
            return
        unaware = not self._agent_told and (self._cancel_requested or not turns.done())
        if unaware or self.cleaning:
            self._log.ending = True
            self._request_cancel(turns)
            # The call of run() that this ends may be the one that sees to it.
            await workflow.wait_condition(lambda: turns.done() and not self.cleaning)
            await self._tell()

    def _request_cancel(self, turns: "asyncio.Task[None]") -> None:
        if not self._cancel_requested:
            self._cancel_requested = True
            turns.cancel()

    async def _run_turns(self) -> None:
        held_back = self._held_back()
        while not self._log.state.terminal and not self._cancel_requested:
            await workflow.wait_condition(
                lambda held=held_back: (
                    self._log.state.terminal or bool(self._inbox) or (held and not self._log.inbox)
                )
            )
            if self._log.state.terminal:
                return
            if not self._inbox:
                if not held_back or self._log.inbox:
                    continue  # the author's code has taken the message
                self._log.emit_status(TaskState.TASK_STATE_COMPLETED)
                return
            threshold = await self._run_turn(self._inbox.popleft())
            held_back = self._held_back()
            if self._log.continue_as_new_due(threshold):
                await self._switch()

    async def _switch(self) -> None:
        """Let a new run take over, unless the task is too large to be carried over."""
        await self._log.settle()
        if not self._log.state.terminal:
            with contextlib.suppress(errors.PublicError):
                self._continue_as_new()

    async def _cancel(self, turns: "asyncio.Task[None]") -> None:
        # A turn that stops already would be given up by a second cancel.
        if not (self._cancel_requested and self.running):
            turns.cancel()
        self._cancel_requested = True
        while not turns.done():
            # Of the task, as the author's code has given the agent up: it stops already.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([turns])
        # A turn that was just over has not told its agent.
        await self._tell()

    async def _tell(self) -> None:
        """Let the agent clean up, unless it was told already or has ended the task."""
        if self._agent_told or self._log.state.terminal:
            return
        self._agent_told = self.cleaning = True
        try:
            await self._run_cancel_hook()
        finally:
            self.cleaning = False

    async def _run_turn(self, received: ReceivedMessage) -> int | None:
        """Run one turn; returns after how much history a new run is to take over."""
        turn = self._log.agent_turn = self._turn_number()
        self._log.agent_given_up = False
        # After a reset the log may hold attempts that this run has yet to make.
        attempts = self._spoken(turn)
        worked, credited, left = 0.0, 0, self._options.maximum_attempts
        self.running = True
        try:
            while True:
                turn_input = self._turn_input(received, turn, attempts, worked)
                try:
                    threshold = await self._run_attempts(turn_input, left)
                    self._end_unsaid(turn)
                    return threshold
                except ActivityError as error:
                    if self._cancel_requested or self._log.state.terminal:
                        self._agent_told = self._cancel_requested and self._heard(error)
                        return None
                    attempts = max(attempts + left, self._spoken(turn))
                    worked = _worked(error) or worked
                    if _was_handed_over(error):
                        left = self._options.maximum_attempts
                        continue
                    # One that was lost while the task waited for a person has not failed.
                    excused = self._lost_waiting(turn) if _may_try_again(error) else credited
                    left, credited = excused - credited, excused
                    if not left:
                        self.failure = error
                        self._log.emit_status(TaskState.TASK_STATE_FAILED, client_text(error))
                        return None
        finally:
            self.running = False

    def _heard(self, error: ActivityError) -> bool:
        """Say whether an attempt was at work that a cancel could reach, so that its agent knows."""
        at_work = is_cancelled_exception(error) and bool(error.started_event_id)
        return at_work or self._log.state.terminal

    def _spoken(self, turn: int) -> int:
        """Return the number of the last attempt that has said something in or after a turn."""
        return self._log.state.attempt if self._log.state.turn >= turn else 0

    def _lost_waiting(self, turn: int) -> int:
        """Count the attempts at a turn that were given up while they asked a person."""
        state = self._log.state
        if state.turn != turn:
            return 0
        return state.lost_waiting + bool(state.checkpoint.asked)

    def _end_unsaid(self, turn: int) -> None:
        """Complete a task whose agent never said how its turn ended.

        That is so when an operator has completed the activity by hand.
        """
        state = self._log.state
        over = state.turn > turn or (state.turn == turn and state.turn_done)
        if over or state.terminal or self._cancel_requested or self._inbox:
            return
        # The author's code may ask as well, in whose words the agent has said nothing.
        asks = state.turn == turn and bool(state.checkpoint.asked)
        if not asks:
            self._log.emit_status(TaskState.TASK_STATE_COMPLETED)

    def _held_back(self) -> bool:
        """Say whether the agent has completed while messages waited, so that the task went on.

        The author's code may take those, and then the task ends without a further turn.
        """
        state = self._log.state
        over = state.turn_done and state.turn == self._log.agent_turn
        asked = state.interrupted or state.checkpoint.asked
        return over and not state.terminal and not asked

    def _turn_number(self) -> int:
        """Return the number of the last message before those that wait.

        That is the one the agent is to handle, or an answer that the author's code has taken since:
        whoever sent that waits for what the agent does now.
        """
        state = self._log.state
        waiting = [*self._inbox, *self._log.inbox]
        turns = (state.accepted[each.message.message_id].turn for each in waiting)
        return min(turns, default=state.turns + 1) - 1

    async def _run_attempts(self, turn_input: TurnInput, maximum: int) -> int | None:
        attempts = workflow.start_activity(
            wire.RUN_AGENT_ACTIVITY,
            turn_input,
            # The attempt itself sees to `turn_timeout`: waiting for a person is no work.
            start_to_close_timeout=_NO_LIMIT,
            heartbeat_timeout=self._options.heartbeat_timeout,
            retry_policy=RetryPolicy(
                initial_interval=self._options.retry_interval,
                maximum_interval=max(self._options.retry_interval, _LONGEST_RETRY_PAUSE),
                maximum_attempts=maximum,
            ),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=f"Turn {turn_input.turn}",
        )
        if await self._left(turn_input.turn, attempts):
            self._agent_told = self._cancel_requested
            return None
        threshold = await attempts
        return (
            threshold if isinstance(threshold, int) else None
        )  # an operator completes with anything

    async def _left(self, turn: int, attempts: "asyncio.Task[Any]") -> bool:
        """Wait for a turn's end; True when its agent has left with the last word said.

        Its activity then sends no completion of its own (see ``agent_activity``): the entry that
        ends the task saves a workflow task, and the client's answer is in the log already. A
        canceled turn's activity leaves when it has to wait for a thread that cannot be stopped.
        """
        state = self._log.state

        def left() -> bool:
            return state.turn == turn and state.turn_left

        try:
            await workflow.wait_condition(lambda: attempts.done() or left())
        except asyncio.CancelledError:
            attempts.cancel()
            if not workflow.unsafe.is_replaying():
                end_local_turn(workflow.info().run_id)
            await workflow.wait_condition(lambda: attempts.done() or left())
        if attempts.done():
            return False
        if not state.terminal:
            # The task goes on, or is yet to become CANCELED: nothing waits for this activity.
            attempts.cancel()
            attempts.add_done_callback(lambda done: done.cancelled() or done.exception())
        return True

    async def _run_cancel_hook(self) -> None:
        """Let the agent clean up a task that is canceled while no turn runs."""
        state = self._log.state
        said = [each for each in state.task.history if each.role == Role.ROLE_USER]
        last = (said or state.task.history)[-1]
        hook = self._turn_input(ReceivedMessage(last, state.start.request), state.turn)
        if not self._log.budget.holds(asdict(hook)):
            # The last message, and what was said beside the first: together they may be too much.
            hook = replace(hook, request={**hook.request, "metadata": {}})
        longest = self._options.cancel_timeout + _CANCEL_HOOK_REST
        try:
            await workflow.execute_activity(
                wire.CANCEL_AGENT_ACTIVITY,
                hook,
                schedule_to_start_timeout=_CANCEL_HOOK_QUEUES,
                start_to_close_timeout=longest,
                schedule_to_close_timeout=_CANCEL_HOOK_QUEUES + longest,
                heartbeat_timeout=self._options.heartbeat_timeout,
                retry_policy=RetryPolicy(maximum_attempts=_CANCEL_HOOK_ATTEMPTS),
                summary="Clean up a canceled task",
            )
        except ActivityError:
            workflow.logger.warning("The agent's cancel() did not finish", exc_info=True)

    def _turn_input(
        self,
        received: ReceivedMessage,
        turn: int,
        earlier_attempts: int = 0,
        worked: float = 0.0,
    ) -> TurnInput:
        start = self._log.state.start
        return TurnInput(
            task_id=start.task_id,
            context_id=start.context_id,
            turn=turn,
            message=to_json(received.message),
            request=received.request,
            tenant=start.tenant,
            attempt=self._log.state.attempt,
            sequence=self._log.state.sequence,
            run_id=workflow.info().run_id,
            earlier_attempts=earlier_attempts,
            worked=worked,
            waited=self._log.state.waited_at(workflow.now()),
        )


def _may_try_again(error: ActivityError) -> bool:
    """Say whether only the number of attempts has ended a turn."""
    return error.retry_state == RetryState.MAXIMUM_ATTEMPTS_REACHED


def _worked(error: ActivityError) -> float:
    """Return for how many seconds the attempts of a failed activity have worked."""
    cause = error.cause
    if isinstance(cause, TimeoutError):
        return worked_in(cause.last_heartbeat_details)
    return worked_in(cause.details) if isinstance(cause, ApplicationError) else 0.0


def _was_handed_over(error: ActivityError) -> bool:
    """Say whether the last attempt was interrupted by a worker that was told to stop.

    That is no failure, so it ends no task, however few attempts a turn may have.
    """
    cause = error.cause
    return isinstance(cause, ApplicationError) and cause.type == errors.WORKER_SHUTDOWN
