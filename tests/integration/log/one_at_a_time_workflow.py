"""A workflow that hands its agent one message at a time, however many wait."""

from collections import deque

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a_temporal._log.entries import TaskStart
    from a2a_temporal._worker.agent.loop import AgentLoop
    from a2a_temporal._worker.task.task_log import ReceivedMessage, TaskLog


@workflow.defn(sandboxed=False)
class OneAtATime:
    """Hands the first message over at once, and each further one at a signal."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self._log = TaskLog(start)
        self._inbox: deque[ReceivedMessage] = deque([self._log.inbox.popleft()])
        self._turns = AgentLoop(self._log)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Let the agent work."""
        await self._turns.run(self._inbox)

    @workflow.signal
    def hand_over(self) -> None:
        """Hand the next message over."""
        self._inbox.append(self._log.inbox.popleft())
