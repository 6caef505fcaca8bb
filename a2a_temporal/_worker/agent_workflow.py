"""The workflow of a task whose agent is an ordinary ``AgentExecutor``.

One turn is one activity. The workflow queues messages, starts turns, and sees to it that every
path ends in a terminal entry.
"""

import asyncio
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    FailureError,
    TimeoutError,
    TimeoutType,
)

with workflow.unsafe.imports_passed_through():
    from a2a.types.a2a_pb2 import TaskState

    from a2a_temporal import errors
    from a2a_temporal._log import wire
    from a2a_temporal._log.entries import TaskStart
    from a2a_temporal._log.fold import state_name
    from a2a_temporal._log.protojson import to_json
    from a2a_temporal._worker.options import AgentOptions
    from a2a_temporal._worker.task_log import ReceivedMessage, TaskLog
    from a2a_temporal._worker.turn import TurnInput

OPTIONS_FUNCTION = "a2a_agent_options"
"""Extern function through which the plugin hands its ``AgentOptions`` to the workflow."""

_LONGEST_RETRY_PAUSE = timedelta(minutes=1)
_CANCEL_HOOK_ATTEMPTS = 2


@workflow.defn(name=wire.AGENT_WORKFLOW, sandboxed=False)
class AgentWorkflow:
    """One task: its log, its turns, its end.

    Outside the sandbox: the code is the library's own and reads neither clock nor environment.
    """

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self._start = start
        self._options: AgentOptions = workflow.extern_functions()[OPTIONS_FUNCTION]()
        self._log = TaskLog(start)
        self._cancel_requested = False
        self._turn_running = False
        self._failure: FailureError | None = None

    @workflow.run
    async def run(self, start: TaskStart) -> dict[str, Any]:
        """Run turns until a terminal entry, then close the workflow the way the task ended."""
        turns = asyncio.create_task(self._run_turns())
        try:
            await asyncio.shield(turns)
        except asyncio.CancelledError:
            await self._cancel(turns)
        state = self._log.state.task.status.state
        if state == TaskState.TASK_STATE_CANCELED and self._cancel_requested:
            raise asyncio.CancelledError
        if state == TaskState.TASK_STATE_FAILED:
            raise ApplicationError(
                "The A2A task failed", type=errors.TASK_FAILED, non_retryable=True
            ) from self._failure
        return {"state": state_name(state)}

    async def _cancel(self, turns: "asyncio.Task[None]") -> None:
        self._cancel_requested = True
        parked = not self._turn_running
        turns.cancel()
        await asyncio.wait([turns])
        if parked and not self._log.state.terminal:
            await self._run_cancel_hook()
        if not self._log.state.terminal:
            self._log.emit_status(TaskState.TASK_STATE_CANCELED)

    async def _run_turns(self) -> None:
        while not self._log.state.terminal and not self._cancel_requested:
            await workflow.wait_condition(lambda: bool(self._log.inbox))
            await self._run_turn(self._log.inbox.popleft())
            if self._log.continue_as_new_due(self._options.continue_as_new_after):
                self._log.continue_as_new()

    async def _run_turn(self, received: ReceivedMessage) -> None:
        self._turn_running = True
        try:
            await workflow.execute_activity(
                wire.RUN_AGENT_ACTIVITY,
                self._turn_input(received),
                start_to_close_timeout=self._options.turn_timeout,
                heartbeat_timeout=self._options.heartbeat_timeout,
                retry_policy=RetryPolicy(
                    initial_interval=self._options.retry_interval,
                    maximum_interval=_LONGEST_RETRY_PAUSE,
                    maximum_attempts=self._options.maximum_attempts,
                ),
                cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
                summary=f"Turn {self._turn_of(received)}",
            )
        except ActivityError as error:
            if not self._cancel_requested and not self._log.state.terminal:
                self._failure = error
                self._log.emit_status(TaskState.TASK_STATE_FAILED, _client_text(error))
        finally:
            self._turn_running = False

    async def _run_cancel_hook(self) -> None:
        """Let the agent clean up a task that is canceled while no turn runs."""
        state = self._log.state
        last = ReceivedMessage(state.task.history[-1], self._start.request)
        hook = self._turn_input(last, turn=state.turn, sequence=state.sequence)
        try:
            await workflow.execute_activity(
                wire.CANCEL_AGENT_ACTIVITY,
                hook,
                schedule_to_close_timeout=self._options.cancel_timeout,
                retry_policy=RetryPolicy(maximum_attempts=_CANCEL_HOOK_ATTEMPTS),
                summary="Clean up a canceled task",
            )
        except ActivityError:
            workflow.logger.warning("The agent's cancel() did not finish", exc_info=True)

    def _turn_of(self, received: ReceivedMessage) -> int:
        return self._log.state.accepted[received.message.message_id].turn

    def _turn_input(
        self, received: ReceivedMessage, *, turn: int | None = None, sequence: int = 0
    ) -> TurnInput:
        return TurnInput(
            task_id=self._start.task_id,
            context_id=self._start.context_id,
            turn=turn if turn is not None else self._turn_of(received),
            message=to_json(received.message),
            request=received.request,
            tenant=self._start.tenant,
            attempt=self._log.state.attempt,
            sequence=sequence,
        )


def _client_text(error: ActivityError) -> str:
    """Say to the client why the task failed, without a word the agent did not declare public."""
    cause = error.cause
    if isinstance(cause, ApplicationError):
        if cause.type in (errors.AGENT_FAILED, errors.AGENT_RETRY) and len(cause.details) == 2:
            public, reference = cause.details
            return str(public) if public else f"The agent failed. Reference: {reference}"
        if cause.type == errors.WORKER_SHUTDOWN:
            return "The agent's worker was shut down before the work was finished."
    if isinstance(cause, TimeoutError):
        if cause.type == TimeoutType.START_TO_CLOSE:
            return "The agent did not finish within its time limit."
        return "The agent's worker was lost while it worked."
    return f"The agent failed. Reference: {workflow.info().workflow_id}"
