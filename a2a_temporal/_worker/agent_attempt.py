"""One attempt at one turn of an ``AgentExecutor``.

It heartbeats, publishes, and turns whatever happens to the agent's code into exactly one of: the
turn is over, another attempt is due, the task failed, the task was canceled.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import NoReturn

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.utils.errors import A2AError
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from a2a_temporal import errors
from a2a_temporal._log.payloads import LogUnreadableError
from a2a_temporal._log.reading import NoTaskError, read_log
from a2a_temporal._sdk_names import missing_sdk_name
from a2a_temporal._worker.early_cancel import hearing
from a2a_temporal._worker.event_queue import PublishingQueue
from a2a_temporal._worker.failures import storable, tellable, text_of
from a2a_temporal._worker.options import AgentOptions
from a2a_temporal._worker.pace import Pace
from a2a_temporal._worker.sending import LogClosedError, entry_limit, sender
from a2a_temporal._worker.threads import TurnThreads
from a2a_temporal._worker.turn import Turn, enter_turn

logger = logging.getLogger("a2a_temporal.agent")

_LAST_WORDS_SECONDS = 2
_UNREAD = (NoTaskError, LogUnreadableError, RPCError, TimeoutError, asyncio.TimeoutError)
"""How long an attempt that is over already waits for what can be done without."""


class Attempt:
    """One attempt at one turn: the agent's code, its queue, and its heart.

    Args:
        executor: The agent.
        options: How turns are run.
        turn: The turn, and the number of the attempt.
        context: What the agent is given.
        sequence: Number of the last batch that the log has of the turn; this attempt counts on.
    """

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
            sender(client, turn.task_id, activity.info().workflow_run_id or ""),
            turn=turn.turn,
            attempt=turn.attempt,
            sequence=sequence,
            pace=Pace(options.batch_interval, sent=sequence),
            limit_bytes=entry_limit(client.data_converter),
            task=context.current_task,
        )

    async def run(self) -> bool:
        """Run it; true when the entry that ends it has told the workflow not to wait."""
        enter_turn(self._turn)
        threads = TurnThreads()
        async with heartbeats(self._options.heartbeat_interval):
            agent = asyncio.create_task(self._guarded_execute())
            try:
                with hearing(activity.info().workflow_run_id or "") as told:
                    await _first_of(agent, told)
            except asyncio.CancelledError:
                if _canceled() or not agent.done():
                    await self._stop(agent, threads)
                    if self._queue.left:
                        return True
                    raise
                await self._finish_soon(asyncio.create_task(self._finish(agent.result())))
                return self._queue.left
            if agent.done():
                await self._finish_anyway(agent.result())
            else:
                await self._stop_early(agent, threads)
        return self._queue.left

    async def call_cancel_hook(self) -> None:
        """Give the agent's ``cancel()`` its chance; the caller sees to the heartbeats."""
        enter_turn(self._turn)
        await self._cancel_hook()
        await self._queue.finish(done=False)

    async def _guarded_execute(self) -> BaseException | None:
        """Run the agent; even its SystemExit is a failure of the task, not of the worker."""
        try:
            await self._executor.execute(self._context, self._queue)
        except BaseException as failure:  # whatever user code raises ends here
            return failure
        return None

    async def _finish_anyway(self, failure: BaseException | None) -> None:
        """Finish, also when Temporal gives the attempt up or the worker is stopped meanwhile."""
        finishing = asyncio.create_task(self._finish(failure))
        try:
            await asyncio.shield(finishing)
        except asyncio.CancelledError:
            await self._finish_soon(finishing)

    async def _finish_soon(self, finishing: "asyncio.Task[None]") -> None:
        """Wait a moment for the last words of an attempt that nobody waits for any more.

        An agent that has blocked its event loop is given up just when it has returned. Whether its
        words still count is for the log to say, which knows if another attempt has spoken.
        """
        ended, _ = await asyncio.wait([finishing], timeout=_LAST_WORDS_SECONDS)
        if ended:
            return finishing.result()
        finishing.cancel()
        self._queue.abandon()
        raise _handed_over() if _worker_stops() else asyncio.CancelledError

    async def _finish(self, failure: BaseException | None) -> None:
        if failure is None:
            try:
                await self._queue.conclude()
                await self._queue.finish(done=True)
            except LogClosedError:
                logger.info("Task %s was closed before its turn ended", self._turn.task_id)
            return
        if isinstance(failure, LogClosedError):
            self._queue.abandon()
            logger.info("Task %s was closed under its running turn", self._turn.task_id)
            return
        with contextlib.suppress(LogClosedError, errors.PublicError):
            await self._queue.finish(done=False)
        self._raise(failure)

    async def _stop(
        self, agent: "asyncio.Task[BaseException | None]", threads: TurnThreads
    ) -> None:
        """Stop the agent's code, wait until it has stopped, and say why it was."""
        canceled = _canceled()
        if not canceled:
            # The attempt is void: nobody is to read that its agent was interrupted.
            self._queue.abandon()
        agent.cancel()
        await asyncio.wait([agent])
        if canceled:
            await self._leave(threads)
            return
        if _worker_stops():
            raise _handed_over()

    async def _stop_early(
        self, agent: "asyncio.Task[BaseException | None]", threads: TurnThreads
    ) -> None:
        """Stop the agent's code before Temporal tells this activity, which it may do meanwhile."""

        async def stop() -> None:
            agent.cancel()
            await asyncio.wait([agent])
            await self._leave(threads, leaving=True)

        stopping = asyncio.create_task(stop())
        while not stopping.done():
            try:
                await asyncio.shield(stopping)
            except asyncio.CancelledError:
                if _worker_stops():
                    stopping.cancel()
                    self._queue.abandon()
                    raise _handed_over() from None
        await stopping

    async def _leave(self, threads: TurnThreads, *, leaving: bool = False) -> None:
        """End a canceled turn, whose code has stopped.

        Args:
            threads: What it may have left running, or its ``cancel()`` may leave.
            leaving: Have the workflow wait no longer in any case.
        """
        await self._look_at_task()
        await self._cancel_hook()
        with contextlib.suppress(LogClosedError, errors.PublicError):
            await self._queue.finish(done=True, leaving=leaving or threads.running)
        if threads.running:
            await self._outlive(threads)

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
                if _worker_stops():
                    ended.cancel()
                    return

    async def _look_at_task(self) -> None:
        """Let the agent's ``cancel()`` know the Task as it is now, if it can be read at once.

        At the beginning of the first turn there was none to know.
        """
        run_id = activity.info().workflow_run_id or ""
        reading = read_log(activity.client(), self._turn.task_id, run_id=run_id)
        try:
            log = await asyncio.wait_for(reading, _LAST_WORDS_SECONDS)
        except _UNREAD as error:
            logger.warning("Task %s could not be read for cancel(): %r", self._turn.task_id, error)
        else:
            self._context.current_task = log.task

    async def _cancel_hook(self) -> None:
        hook = asyncio.create_task(self._guarded_cancel())
        limit = self._options.cancel_timeout.total_seconds()
        try:
            ended, _ = await asyncio.wait([hook], timeout=limit)
        finally:
            hook.cancel()
        if not ended:
            ended, _ = await asyncio.wait([hook], timeout=_LAST_WORDS_SECONDS)
        failure = hook.result() if ended else TimeoutError("cancel() does not end")
        if failure is not None:
            logger.error(
                "cancel() of the agent failed for task %s; the task is canceled all the same",
                self._turn.task_id,
                exc_info=failure,
            )

    async def _guarded_cancel(self) -> BaseException | None:
        """Run the agent's ``cancel()``, which may end by the cancel of what it stops and awaits."""
        try:
            await self._executor.cancel(self._context, self._queue)
        except BaseException as failure:  # whatever user code raises ends here
            return failure
        return None

    def _raise(self, failure: BaseException) -> NoReturn:
        reference = uuid.uuid4().hex[:12]
        cause = tellable(failure)
        logger.error(
            "The agent raised %s in task %s, turn %d, attempt %d (reference %s)",
            type(failure).__name__,
            self._turn.task_id,
            self._turn.turn,
            self._turn.attempt,
            reference,
            exc_info=failure if cause is None else None,
        )
        if missing := missing_sdk_name(failure):
            logger.error("%s", missing)
        retry = isinstance(failure, errors.RetryableError)
        raise ApplicationError(
            f"{type(failure).__name__}: {text_of(failure)}",
            _public_text(failure),
            reference,
            type=errors.AGENT_RETRY if retry else errors.AGENT_FAILED,
            non_retryable=not retry,
        ) from cause


def _canceled() -> bool:
    """Say whether the task is to end, rather than this attempt."""
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested


def _worker_stops() -> bool:
    """Say whether the attempt ends because its worker was told to stop."""
    details = activity.cancellation_details()
    return details is not None and details.worker_shutdown


def _handed_over() -> ApplicationError:
    return ApplicationError(
        "The worker was shut down under a running turn",
        type=errors.WORKER_SHUTDOWN,
        next_retry_delay=timedelta(milliseconds=1),
    )


async def _first_of(task: "asyncio.Task[BaseException | None]", event: asyncio.Event) -> None:
    """Wait for whichever comes first; neither is canceled."""
    waiting = asyncio.create_task(event.wait())
    try:
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def _public_text(failure: BaseException) -> str | None:
    if isinstance(failure, errors.PublicError):
        return storable(failure.text)
    if isinstance(failure, A2AError):
        return storable(failure.message)
    return None


@contextlib.asynccontextmanager
async def heartbeats(interval: timedelta) -> AsyncGenerator[None]:
    """Heartbeat for as long as the block lasts."""

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
