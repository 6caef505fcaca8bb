"""The activities that run an ``AgentExecutor``: one attempt at one turn, and the cancel hook."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from a2a.auth.user import User
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import Message, SendMessageConfiguration, SendMessageRequest, Task
from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import Gateway
from a2a_temporal._log import wire
from a2a_temporal._log.protojson import from_json
from a2a_temporal._log.state import LogState
from a2a_temporal._reading.cache import Logs
from a2a_temporal._worker.agent.attempt import Attempt, heartbeats
from a2a_temporal._worker.agent.attempt_numbers import CountedAttempt
from a2a_temporal._worker.agent.turn import Turn, TurnInput, local_turn
from a2a_temporal._worker.agent.working_time import worked_in
from a2a_temporal._worker.options import AgentOptions

logger = logging.getLogger("a2a_temporal.agent")


class AgentActivities:
    """The two activities of an agent, for ``Worker(activities=...)``.

    Args:
        executor: The agent; shared by all turns of this worker.
        options: How turns are run.
    """

    def __init__(self, executor: AgentExecutor, options: AgentOptions) -> None:
        self._executor = executor
        self._options = options
        self._logs: Logs | None = None
        # The last heartbeat may be half the timeout old.
        self.completions = AsyncCompletions(options.heartbeat_timeout / 4)

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
            self.completions.add(self._options.continue_as_new_after)
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
        client = activity.client()  # a worker may get another one, as its certificate ends
        if self._logs is None or self._logs.client is not client:
            self._logs = Logs(client)
        return await self._logs.state(task_id, run_id=run_id)


class AsyncCompletions:
    """Completes activities whose last entry has told the workflow not to wait for them.

    As a rule the workflow closes within milliseconds, in this process, and nothing is left to
    complete. But its workflow task may be with a worker that was just killed, and what was signaled
    since is in the history only once that has timed out. Temporal would miss the activity's
    heartbeats first and have the turn run again.

    Args:
        after: How long a workflow may take to close before the activity is completed.
    """

    def __init__(self, after: timedelta) -> None:
        self._after = after.total_seconds()
        self._stopping = False
        self._waiting: set[asyncio.Task[None]] = set()
        self._over: set[asyncio.Event] = set()

    def add(self, result: object) -> None:
        """Take over the calling activity, which must end by ``activity.raise_complete_async``."""
        info = activity.info()
        temporal, task_token = Gateway(activity.client()), info.task_token

        async def complete() -> None:
            with local_turn(info.workflow_run_id or "") as over:
                self._over.add(over)
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(over.wait(), self._after)
                self._over.discard(over)
            if over.is_set() and not self._stopping:
                return
            try:
                await temporal.complete_activity(task_token, result)
            except AsyncActivityCancelledError:
                pass
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:
                    logger.warning("A turn could not be reported as over: %s", error)

        waiting = asyncio.create_task(complete())
        self._waiting.add(waiting)
        waiting.add_done_callback(self._waiting.discard)

    async def flush(self) -> None:
        """Complete all activities at once, as the worker is about to stop."""
        self._stopping = True
        await asyncio.sleep(0)  # in which those that were just added begin to wait
        for over in self._over:
            over.set()
        await asyncio.gather(*self._waiting)
        self._stopping = False


@dataclass(frozen=True)
class CallUser(User):
    """The user of the request that began the turn, as the server authenticated them."""

    name: str
    authenticated: bool

    @property
    def is_authenticated(self) -> bool:
        """Whether the server knew who this is."""
        return self.authenticated

    @property
    def user_name(self) -> str:
        """The name the server knew."""
        return self.name


def request_context(turn_input: TurnInput, task: Task | None) -> RequestContext:
    """Rebuild the RequestContext of the call that began the turn, in this other process."""
    request = turn_input.request
    params = SendMessageRequest(
        tenant=turn_input.tenant, message=from_json(turn_input.message, Message())
    )
    if request.get("configuration"):
        params.configuration.CopyFrom(
            from_json(request["configuration"], SendMessageConfiguration())
        )
    if request.get("metadata"):
        from_json(request["metadata"], params.metadata)
    state: dict[str, Any] = {
        "headers": dict(request.get("headers") or {}),
        "scopes": list(request.get("scopes") or []),
    }
    call_context = ServerCallContext(
        user=CallUser(request.get("user", ""), bool(request.get("authenticated", False))),
        tenant=turn_input.tenant,
        requested_extensions=set(request.get("extensions") or []),
        state=state,
    )
    return RequestContext(
        call_context,
        params,
        task_id=turn_input.task_id,
        context_id=turn_input.context_id,
        task=task,
    )
