"""The workflow of a task whose agent is an ordinary ``AgentExecutor``."""

import asyncio
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from a2a.types.a2a_pb2 import TaskState

    from a2a_temporal import errors
    from a2a_temporal._log import wire
    from a2a_temporal._log.entries import TaskStart
    from a2a_temporal._log.state import state_name
    from a2a_temporal._worker.agent.loop import AgentLoop
    from a2a_temporal._worker.agent.turn import end_local_turn
    from a2a_temporal._worker.task.task_log import TaskLog


@workflow.defn(name=wire.AGENT_WORKFLOW, sandboxed=False)
class AgentWorkflow:
    """One task: its log, its agent's turns, and a close that shows how it ended.

    Outside the sandbox: the code is the library's own and reads neither clock nor environment.
    """

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self._log = TaskLog(start)
        self._agent = AgentLoop(self._log)

    @workflow.run
    async def run(self, start: TaskStart) -> dict[str, Any]:
        """Run the turns, then close the workflow the way the task ended."""
        failure: ActivityError | None = None
        try:
            await self._agent.run(self._log.inbox, continue_as_new=self._continue_as_new)
        except ActivityError as error:
            failure = error
        except asyncio.CancelledError:
            if not self._log.state.terminal:
                self._log.emit_status(TaskState.TASK_STATE_CANCELED)
            raise
        if not workflow.unsafe.is_replaying():
            end_local_turn(workflow.info().run_id)
        state = self._log.state.task.status.state
        if state == TaskState.TASK_STATE_FAILED:
            raise ApplicationError(
                "The A2A task failed", type=errors.TASK_FAILED, non_retryable=True
            ) from failure
        return {"state": state_name(state)}

    def _continue_as_new(self) -> None:
        self._log.continue_as_new(self._agent.carry(self._log.snapshot(self._log.inbox)))
