"""The activities that run an ``AgentExecutor``: one attempt at one turn, and the cancel hook.

The wrapper heartbeats, publishes, and turns whatever happens to the agent's code into exactly one
of: the turn is over, another attempt is due, the task failed, the task was canceled.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, NoReturn

from a2a.auth.user import User
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import Message, SendMessageConfiguration, SendMessageRequest, Task
from a2a.utils.errors import A2AError
from temporalio import activity
from temporalio.exceptions import ApplicationError

from a2a_temporal import errors
from a2a_temporal._log import wire
from a2a_temporal._log.protojson import from_json
from a2a_temporal._log.reading import read_log
from a2a_temporal._worker.departures import Departures
from a2a_temporal._worker.event_queue import PublishingQueue, completed
from a2a_temporal._worker.options import AgentOptions
from a2a_temporal._worker.sending import LogClosedError, entry_limit, sender
from a2a_temporal._worker.threads import TurnThreads
from a2a_temporal._worker.turn import Turn, TurnInput, enter_turn

logger = logging.getLogger("a2a_temporal.agent")


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


class AgentActivities:
    """The two activities of an agent, for ``Worker(activities=...)``.

    Args:
        executor: The agent; shared by all turns of this worker.
        options: How turns are run.
    """

    def __init__(self, executor: AgentExecutor, options: AgentOptions) -> None:
        self._executor = executor
        self._options = options
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
        number = turn_input.earlier_attempts + info.attempt
        turn = Turn(turn_input.task_id, turn_input.context_id, turn_input.turn, number)
        task: Task | None = None
        reset = turn_input.run_id not in ("", _run_id(info))
        if turn.turn > 1 or turn.attempt > 1 or reset:
            log = await read_log(activity.client(), turn.task_id, run_id=_run_id(info))
            if log.turn >= turn.turn and log.turn_over:
                return self._options.continue_as_new_after
            task = log.task if log.turn else None
            if reset and log.turn == turn.turn:
                # Temporal counts anew, but the attempts of the earlier run are in the log.
                turn = replace(turn, attempt=log.attempt + turn.attempt)
        attempt = _Attempt(self._executor, self._options, turn, _context(turn_input, task))
        if await attempt.run():
            # A completion now would cost a workflow task, or be refused because it is too late.
            self.departures.add(self._options.continue_as_new_after)
            activity.raise_complete_async()
        return self._options.continue_as_new_after

    @activity.defn(name=wire.CANCEL_AGENT_ACTIVITY)
    async def cancel_agent(self, turn_input: TurnInput) -> None:
        """Give the agent's ``cancel()`` a chance to clean up a task of which no turn runs."""
        info = activity.info()
        turn = Turn(turn_input.task_id, turn_input.context_id, turn_input.turn, turn_input.attempt)
        log = await read_log(activity.client(), turn.task_id, run_id=_run_id(info))
        attempt = _Attempt(
            self._executor,
            self._options,
            turn,
            _context(turn_input, log.task),
            sequence=turn_input.sequence,
        )
        await attempt.call_cancel_hook()


class _Attempt:
    """One attempt at one turn: the agent's code, its queue, and its heart."""

    def __init__(
        self,
        executor: AgentExecutor,
        options: AgentOptions,
        turn: Turn,
        context: RequestContext,
        *,
        sequence: int = 0,
    ) -> None:
        self._executor = executor
        self._options = options
        self._turn = turn
        self._context = context
        client = activity.client()
        self._queue = PublishingQueue(
            sender(client, turn.task_id, _run_id(activity.info())),
            turn=turn.turn,
            attempt=turn.attempt,
            sequence=sequence,
            batch_interval=options.batch_interval,
            limit_bytes=entry_limit(client.data_converter),
        )

    async def run(self) -> bool:
        """Run it; true when the entry that ends it has told the workflow not to wait."""
        enter_turn(self._turn)
        threads = TurnThreads()
        async with _heartbeats(self._options.heartbeat_interval):
            agent = asyncio.create_task(self._guarded_execute())
            try:
                failure = await asyncio.shield(agent)
            except asyncio.CancelledError:
                await self._stop(agent, threads)
                if self._queue.left:
                    return True
                raise
            await self._finish(failure)
        return self._queue.left

    async def call_cancel_hook(self) -> None:
        enter_turn(self._turn)
        async with _heartbeats(self._options.heartbeat_interval):
            await self._cancel_hook()
            await self._queue.close(done=False)

    async def _guarded_execute(self) -> BaseException | None:
        """Run the agent; even its SystemExit is a failure of the task, not of the worker."""
        try:
            await self._executor.execute(self._context, self._queue)
        except BaseException as failure:  # whatever user code raises ends here
            return failure
        return None

    async def _finish(self, failure: BaseException | None) -> None:
        if failure is None:
            if not self._queue.settled:
                await self._queue.enqueue_event(completed())
            try:
                await self._queue.close(done=True)
            except LogClosedError:
                logger.info("Task %s was closed before its turn ended", self._turn.task_id)
            return
        if isinstance(failure, LogClosedError):
            self._queue.abandon()
            logger.info("Task %s was closed under its running turn", self._turn.task_id)
            return
        with contextlib.suppress(LogClosedError, errors.PublicError):
            await self._queue.close(done=False)
        self._raise(failure)

    async def _stop(
        self, agent: "asyncio.Task[BaseException | None]", threads: TurnThreads
    ) -> None:
        """Stop the agent's code, wait until it has stopped, and say why it was."""
        details = activity.cancellation_details()
        agent.cancel()
        await asyncio.wait([agent])
        if details is not None and details.cancel_requested:
            await self._cancel_hook()
            with contextlib.suppress(LogClosedError, errors.PublicError):
                await self._queue.close(done=True, leaving=threads.running)
            if threads.running:
                await self._outlive(threads)
            return
        self._queue.abandon()
        if details is not None and details.worker_shutdown:
            raise ApplicationError(
                "The worker was shut down under a running turn",
                type=errors.WORKER_SHUTDOWN,
                next_retry_delay=timedelta(milliseconds=1),
            )

    async def _outlive(self, threads: TurnThreads) -> None:
        """Keep the worker's slot taken while threads of a canceled turn run on.

        The turn's last entry has told the workflow, so the task itself waits no longer.
        """
        logger.warning(
            "Task %s is canceled, but its agent left a thread running; until that ends it keeps "
            "its place among the worker's concurrent activities",
            self._turn.task_id,
        )
        ended = asyncio.create_task(threads.ended())
        while not ended.done():
            try:
                await asyncio.shield(ended)
            except asyncio.CancelledError:  # again, as the workflow is closed by now
                details = activity.cancellation_details()
                if details is not None and details.worker_shutdown:
                    ended.cancel()
                    return

    async def _cancel_hook(self) -> None:
        limit = self._options.cancel_timeout.total_seconds()
        try:
            await asyncio.wait_for(self._executor.cancel(self._context, self._queue), limit)
        except Exception:
            logger.exception(
                "cancel() of the agent failed for task %s; the task is canceled all the same",
                self._turn.task_id,
            )

    def _raise(self, failure: BaseException) -> NoReturn:
        reference = uuid.uuid4().hex[:12]
        logger.error(
            "The agent raised %s in task %s, turn %d, attempt %d (reference %s)",
            type(failure).__name__,
            self._turn.task_id,
            self._turn.turn,
            self._turn.attempt,
            reference,
        )
        retry = isinstance(failure, errors.RetryableError)
        raise ApplicationError(
            f"{type(failure).__name__}: {failure}",
            _public_text(failure),
            reference,
            type=errors.AGENT_RETRY if retry else errors.AGENT_FAILED,
            non_retryable=not retry,
        ) from failure


def _run_id(info: activity.Info) -> str:
    return info.workflow_run_id or ""


def _public_text(failure: BaseException) -> str | None:
    if isinstance(failure, errors.PublicError):
        return failure.text
    if isinstance(failure, A2AError):
        return failure.message
    return None


def _context(turn_input: TurnInput, task: Task | None) -> RequestContext:
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


@contextlib.asynccontextmanager
async def _heartbeats(interval: timedelta) -> AsyncGenerator[None]:
    async def beat() -> None:
        # Sleep first: the server counts from the start of the activity anyway, and short turns are
        # over before the first beat. That one comes early, because people cancel early: what they
        # have just sent, and a cancel reaches this code only with a beat.
        await asyncio.sleep(interval.total_seconds() / 2)
        while True:
            activity.heartbeat()
            await asyncio.sleep(interval.total_seconds())

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
