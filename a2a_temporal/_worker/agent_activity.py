"""The activities that run an ``AgentExecutor``: one attempt at one turn, and the cancel hook."""

from datetime import datetime, timezone

from a2a.server.agent_execution import AgentExecutor
from a2a.types.a2a_pb2 import Task
from temporalio import activity

from a2a_temporal._log import wire
from a2a_temporal._log.kept import KeptLogs
from a2a_temporal._log.state import LogState
from a2a_temporal._worker.agent_attempt import Attempt, heartbeats
from a2a_temporal._worker.attempt_numbers import CountedAttempt
from a2a_temporal._worker.departures import Departures
from a2a_temporal._worker.options import AgentOptions
from a2a_temporal._worker.request_context import request_context
from a2a_temporal._worker.turn import Turn, TurnInput
from a2a_temporal._worker.working_time import worked_in


class AgentActivities:
    """The two activities of an agent, for ``Worker(activities=...)``.

    Args:
        executor: The agent; shared by all turns of this worker.
        options: How turns are run.
    """

    def __init__(self, executor: AgentExecutor, options: AgentOptions) -> None:
        self._executor = executor
        self._options = options
        self._logs = KeptLogs()
        # The last heartbeat may be half the timeout old.
        self.departures = Departures(options.heartbeat_timeout / 4)

    @activity.defn(name=wire.RUN_AGENT_ACTIVITY)
    async def run_agent(self, turn_input: TurnInput) -> int | None:
        """Run one attempt at a turn to its end.

        Returns:
            ``AgentOptions.continue_as_new_after``: through the history, so that a replay decides as
            the run did even when the option has changed since.
        """
        info = activity.info()
        own = CountedAttempt()
        number = turn_input.earlier_attempts + own.counted
        task: Task | None = None
        sequence, waited = 0, turn_input.waited
        another_run = turn_input.run_id not in ("", info.workflow_run_id)
        if turn_input.turn > 1 or number > 1 or another_run or not own.is_the_first:
            log = await self._read(turn_input.task_id)
            here = log.turn == turn_input.turn
            if log.turn > turn_input.turn or (here and log.turn_over):
                return self._options.continue_as_new_after
            waited = log.waited_at(datetime.now(timezone.utc))
            task = log.task if log.turn else None
            if log.answers:
                # An agent looks at this to know that the message answers what it has asked.
                log.task.status.state = log.answers
            if here:
                # An agent that shows its Task first would bring back what is about to be dropped.
                log.checkpoint.copy().restore(log.task)
                sequence = log.sequence
            number = await own.number_after(log.attempt if here else 0, number)
        turn = Turn(turn_input.task_id, turn_input.context_id, turn_input.turn, number)
        context = request_context(turn_input, task)
        attempt = Attempt(self._executor, self._options, turn, context, sequence=sequence)
        worked = worked_in(info.heartbeat_details) or turn_input.worked
        if await attempt.run(worked=worked, waited=waited, read=self._read):
            # A completion now would cost a workflow task, or be refused because it is too late.
            self.departures.add(self._options.continue_as_new_after)
            activity.raise_complete_async()
        return self._options.continue_as_new_after

    @activity.defn(name=wire.CANCEL_AGENT_ACTIVITY)
    async def cancel_agent(self, turn_input: TurnInput) -> None:
        """Give the agent's ``cancel()`` a chance to clean up a task of which no turn runs."""
        turn = Turn(turn_input.task_id, turn_input.context_id, turn_input.turn, turn_input.attempt)
        async with heartbeats(self._options.heartbeat_interval):
            log = await self._read(turn.task_id)
            here = (log.turn, log.attempt) == (turn.turn, turn.attempt)
            attempt = Attempt(
                self._executor,
                self._options,
                turn,
                request_context(turn_input, log.task),
                # A lost attempt at this may have said something already.
                sequence=log.sequence if here else turn_input.sequence,
            )
            await attempt.call_cancel_hook()

    async def _read(self, task_id: str) -> LogState:
        """Return what the log of the activity's run says now."""
        run_id = activity.info().workflow_run_id or ""
        return await self._logs.read(activity.client(), task_id, run_id=run_id)
