"""The agent loop: run an ``AgentExecutor`` for a task, one activity for each message, in order."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta
from enum import Enum
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
    from a2a_temporal._log.snapshot import Snapshot
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


class Phase(Enum):
    """What the agent of a task is doing."""

    IDLE = "idle"
    """No turn is under way; the next message is the next turn."""
    WORKING = "working"
    """A turn is under way."""
    STOPPING = "stopping"
    """The agent is canceled, and its turn, if there is one, has not ended yet."""
    CLEANING_UP = "cleaning up"
    """The agent's ``cancel()`` runs outside of a turn."""
    GIVEN_UP = "given up"
    """The workflow's code has canceled the agent, and has given it no turn since."""
    ENDED = "ended"
    """The agent has stopped, because its task is about to become CANCELED."""


class AgentLoop:
    """Runs the turns of a task's agent; owns what is known of the agent beside the log.

    Args:
        log: The task's log.

    Attributes:
        phase: What the agent is doing.
        turn: The turn that the agent was given last; 0 once it was given up. After a reset the log
            may hold later turns, which Temporal has written into it again.
    """

    def __init__(self, log: TaskLog) -> None:
        self._log = log
        self._options = agent_options()
        self._inbox: deque[ReceivedMessage] = deque()
        self._turns: asyncio.Task[None] | None = None
        carried = log.carried
        self.turn: int = carried.agent_turn if carried is not None else 0
        given_up = carried is not None and carried.agent_given_up
        self.phase: Phase = Phase.GIVEN_UP if given_up else Phase.IDLE
        self._then = Phase.IDLE  # what the phase becomes when the agent has stopped

    def carry(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot with what the next run must know of the agent."""
        given_up = self.phase is Phase.GIVEN_UP
        return replace(snapshot, agent_turn=self.turn, agent_given_up=given_up)

    @property
    def active(self) -> bool:
        """True while code of the agent may run."""
        return self.phase in (Phase.WORKING, Phase.STOPPING, Phase.CLEANING_UP)

    @property
    def stopping(self) -> bool:
        """True while the agent is being canceled."""
        return self.phase in (Phase.STOPPING, Phase.CLEANING_UP)

    @property
    def asks(self) -> TaskState | None:
        """The state in which the agent waits for the client; None while it does not."""
        asked = self._log.state.checkpoint.asked
        if not asked or self._log.state.turn != self.turn:
            return None
        auth = TaskState.TASK_STATE_AUTH_REQUIRED
        return auth if asked == auth else TaskState.TASK_STATE_INPUT_REQUIRED

    async def run(
        self,
        inbox: deque[ReceivedMessage],
        *,
        continue_as_new: Callable[[], None] = lambda: None,
    ) -> None:
        """Run turns until the task has ended; a cancel is let through once the agent has stopped.

        An agent that has ended the task otherwise by then was not canceled.

        Args:
            inbox: The messages for the agent.
            continue_as_new: Lets a new run take over, or returns where none may.

        Raises:
            ActivityError: The turn that failed the task, which is FAILED.
        """
        self._inbox = inbox
        turns = self._turns = asyncio.create_task(self._run_turns(continue_as_new))
        try:
            await asyncio.shield(turns)
        except asyncio.CancelledError:
            if not self.stopping and self.phase is not Phase.ENDED:
                await self._stop(turns, Phase.GIVEN_UP)
            state = self._log.state
            if not state.terminal or state.task.status.state == TaskState.TASK_STATE_CANCELED:
                raise
            if not turns.cancelled():
                turns.result()
        if not self._log.state.terminal:
            raise asyncio.CancelledError  # stop() has ended the loop: its caller is to end as well

    async def stop(self) -> None:
        """Stop the agent, unless it has, because its task is about to become CANCELED."""
        if self.stopping:
            self._then = Phase.ENDED
            await workflow.wait_condition(lambda: not self.stopping)
        turns = self._turns
        if turns is not None and not turns.done() and not self._log.state.terminal:
            await self._stop(turns, Phase.ENDED)

    async def _stop(self, turns: "asyncio.Task[None]", then: Phase) -> None:
        """Cancel the loop, and let an agent that does not learn of it by its turn clean up."""
        self.phase, self._then = Phase.STOPPING, then
        turns.cancel()
        try:
            while not turns.done():
                # One more cancel would abandon the turn that stops already.
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([turns])
            unaware = turns.cancelled() or turns.exception() is not None
            if unaware and not self._log.state.terminal:
                self.phase = Phase.CLEANING_UP
                await self._run_cancel_hook()
        finally:
            self.phase = self._then
            if self.phase is Phase.GIVEN_UP:
                self.turn = 0

    async def _run_turns(self, continue_as_new: Callable[[], None]) -> None:
        """Run turns until the task has ended, or the agent has been stopped in one.

        Ends by a ``CancelledError`` where the agent does not know that it is canceled.
        """
        held_back = self._held_back()
        while not self._log.state.terminal:
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
            if self.stopping:
                return
            held_back = self._held_back()
            if self._log.continue_as_new_due(threshold):
                # A task that is too large to be carried over stays in its run.
                await self._log.settle()
                if not self._log.state.terminal:
                    with contextlib.suppress(errors.PublicError):
                        continue_as_new()

    async def _run_turn(self, received: ReceivedMessage) -> int | None:
        """Run one turn; returns after how much history a new run is to take over."""
        turn = self.turn = self._turn_number()
        # After a reset the log may hold attempts that this run has yet to make.
        attempts = self._spoken(turn)
        worked, credited, left = 0.0, 0, self._options.maximum_attempts
        self.phase = Phase.WORKING
        try:
            while True:
                turn_input = self._turn_input(received, turn, attempts, worked)
                try:
                    threshold = await self._run_attempts(turn_input, left)
                    self._end_unsaid(turn)
                    return threshold
                except ActivityError as error:
                    if self.stopping and not self._heard(error):
                        raise asyncio.CancelledError from error
                    if self.stopping or self._log.state.terminal:
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
                        self._log.emit_status(TaskState.TASK_STATE_FAILED, client_text(error))
                        raise
        finally:
            if self.phase is Phase.WORKING:
                self.phase = Phase.IDLE

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
        if over or state.terminal or self.stopping or self._inbox:
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
        over = state.turn_done and state.turn == self.turn
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
        if await self._completes_early(turn_input.turn, attempts):
            return None
        threshold = await attempts
        if self.stopping:
            raise asyncio.CancelledError
        # An operator may complete it by hand, with anything.
        return threshold if isinstance(threshold, int) else None

    async def _completes_early(self, turn: int, attempts: "asyncio.Task[Any]") -> bool:
        """Wait for a turn's end; True when it has ended before its activity completes.

        The activity then sends no completion of its own (see ``AsyncCompletions``): the entry that
        ends the task saves a workflow task, and the client's answer is in the log already. A
        canceled turn ends so when it has to wait for a thread that cannot be stopped.
        """
        state = self._log.state

        def left() -> bool:
            return state.turn == turn and state.completed_early

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
