"""One attempt at one turn of an ``AgentExecutor``.

It heartbeats, publishes, and turns whatever happens to the agent's code into exactly one of: the
turn is over, another attempt is due, the task failed, the task was canceled.
"""

import asyncio
import contextlib
import copy
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, NoReturn

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.utils.errors import A2AError
from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from a2a_temporal import errors
from a2a_temporal._log.state import LogState
from a2a_temporal._reading.decode import LogUnreadableError
from a2a_temporal._reading.reader import NoTaskError, read_log
from a2a_temporal._sdk_names import missing_sdk_name
from a2a_temporal._worker.agent.event_queue import PublishingQueue
from a2a_temporal._worker.agent.sending import LogClosedError, Pace, entry_limit, sender
from a2a_temporal._worker.agent.threads import TurnThreads
from a2a_temporal._worker.agent.turn import Turn, enter_turn, local_turn
from a2a_temporal._worker.agent.working_time import WorkingTime
from a2a_temporal._worker.failures import storable, tellable, text_of
from a2a_temporal._worker.options import AgentOptions

logger = logging.getLogger("a2a_temporal.agent")

_ENDS_BY_ITSELF_SECONDS = 1.0
"""How long ``execute()`` may go on once ``cancel()`` was called and has not returned."""

_LAST_WORDS_SECONDS = 2
"""How long an attempt that is over already waits for what can be done without."""

_UNREAD = (NoTaskError, LogUnreadableError, RPCError, TimeoutError, asyncio.TimeoutError)


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
        self._time: WorkingTime | None = None
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

    async def run(
        self, *, worked: float, waited: int, read: Callable[[str], Awaitable[LogState]]
    ) -> bool:
        """Run it; true when the entry that ends it has told the workflow not to wait.

        Args:
            worked: Seconds that earlier attempts at the turn have worked.
            waited: Milliseconds that the task had waited for people before this one.
            read: Reads the log of a task.
        """
        enter_turn(self._turn)
        threads = TurnThreads()
        limit = self._options.turn_timeout
        time = self._time = WorkingTime(
            spent=worked,
            asks=lambda: self._queue.asked_for,
            waited=waited,
            read=lambda: read(self._turn.task_id),
        )
        async with heartbeats(self._options.heartbeat_interval, lambda: [time.details]):
            if time.worked >= limit.total_seconds():
                await self._clean_up()
                self._raise(_TimeLimitError(limit))
            agent = asyncio.create_task(self._guarded_execute())
            over = asyncio.create_task(time.reaches(limit))
            try:
                with local_turn(activity.info().workflow_run_id or "") as canceled:
                    await _first_of(agent, over, canceled)
            except asyncio.CancelledError:
                if _canceled() or not agent.done():
                    await self._stop(agent, threads)
                    if self._queue.left:
                        return True
                    raise
                await self._finish_soon(asyncio.create_task(self._finish(agent.result())))
                return self._queue.left
            finally:
                over.cancel()
            if agent.done():
                await self._finish_anyway(agent.result())
            elif over.done() and not over.cancelled():
                over.result()
                await self._end_at(limit, agent)
            else:
                await self._stop_early(agent, threads)
        return self._queue.left

    async def call_cancel_hook(self) -> None:
        """Give the agent's ``cancel()`` its chance; the caller sees to the heartbeats."""
        enter_turn(self._turn)
        await self._cancel_hook(self._context)
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
        raise self._handed_over() if _worker_stops() else asyncio.CancelledError

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
            if isinstance(failure, errors.RetryableError):
                # Nobody waits for what it may have asked: the attempt has failed.
                await self._queue.go_on()
            await self._queue.finish(done=False)
        self._raise(failure)

    async def _stop(
        self, agent: "asyncio.Task[BaseException | None]", threads: TurnThreads
    ) -> None:
        """Stop the agent's code, wait until it has stopped, and say why it was."""
        if _canceled():
            await self._stop_code(agent)
            await self._leave(threads)
            return
        # The attempt is void: nobody is to read that its agent was interrupted.
        self._queue.abandon()
        agent.cancel()
        await asyncio.wait([agent])
        if _worker_stops():
            raise self._handed_over()

    async def _stop_early(
        self, agent: "asyncio.Task[BaseException | None]", threads: TurnThreads
    ) -> None:
        """Stop the agent's code before Temporal tells this activity, which it may do meanwhile."""

        async def stop() -> None:
            await self._stop_code(agent)
            await self._leave(threads, leaving=True)

        stopping = asyncio.create_task(stop())
        while not stopping.done():
            try:
                await asyncio.shield(stopping)
            except asyncio.CancelledError:
                if _worker_stops():
                    stopping.cancel()
                    self._queue.abandon()
                    raise self._handed_over() from None
        await stopping

    async def _stop_code(self, agent: "asyncio.Task[BaseException | None]") -> None:
        """Stop the agent's code: ``cancel()`` is called as it runs, then ``execute()`` interrupted.

        That is the order of the SDK's own handler. It lets an agent end by itself; one that has not
        after a moment, or whose ``cancel()`` has returned, is interrupted. What ends the task is
        published only when no code of the agent runs any more.
        """
        self._queue.hold_end()
        cleaning = asyncio.create_task(self._clean_up())
        try:
            await asyncio.wait(
                [agent, cleaning],
                timeout=_ENDS_BY_ITSELF_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
            agent.cancel()
            await asyncio.wait([agent])
            await cleaning
        finally:
            agent.cancel()
            cleaning.cancel()
        self._queue.release_end()

    async def _end_at(
        self, limit: timedelta, agent: "asyncio.Task[BaseException | None]"
    ) -> NoReturn:
        """End a turn that has reached its limit; what its code says from now on is void."""
        with contextlib.suppress(LogClosedError, errors.PublicError):
            await self._queue.finish(done=False)
        stopping = asyncio.create_task(self._stop_code(agent))
        longest = self._options.cancel_timeout.total_seconds() + _LAST_WORDS_SECONDS
        try:
            await asyncio.wait([stopping], timeout=longest)
        finally:
            stopping.cancel()
        self._raise(_TimeLimitError(limit))

    async def _leave(self, threads: TurnThreads, *, leaving: bool = False) -> None:
        """End a canceled turn, whose code has stopped.

        Args:
            threads: What it may have left running, or its ``cancel()`` may leave.
            leaving: Have the workflow wait no longer in any case.
        """
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

    async def _clean_up(self) -> None:
        """Call the agent's ``cancel()``, with the Task as it is now, if it can be read at once.

        At the beginning of the first turn there was none to know.
        """
        context = copy.copy(self._context)
        run_id = activity.info().workflow_run_id or ""
        reading = read_log(activity.client(), self._turn.task_id, run_id=run_id)
        try:
            log = await asyncio.wait_for(reading, _LAST_WORDS_SECONDS)
        except _UNREAD as error:
            logger.warning("Task %s could not be read for cancel(): %r", self._turn.task_id, error)
        else:
            context.current_task = log.task
        await self._cancel_hook(context)

    async def _cancel_hook(self, context: RequestContext) -> None:
        hook = asyncio.create_task(self._guarded_cancel(context))
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

    async def _guarded_cancel(self, context: RequestContext) -> BaseException | None:
        """Run the agent's ``cancel()``, which may end by the cancel of what it stops and awaits."""
        try:
            await self._executor.cancel(context, self._queue)
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
            self._time.details if self._time is not None else {},
            type=errors.AGENT_RETRY if retry else errors.AGENT_FAILED,
            non_retryable=not retry,
        ) from cause

    def _handed_over(self) -> ApplicationError:
        return ApplicationError(
            "The worker was shut down under a running turn",
            self._time.details if self._time is not None else {},
            type=errors.WORKER_SHUTDOWN,
            next_retry_delay=timedelta(milliseconds=1),
        )


class _TimeLimitError(errors.PublicError):
    """The turn has worked for as long as ``AgentOptions.turn_timeout`` lets it."""

    def __init__(self, limit: timedelta) -> None:
        super().__init__(
            f"The agent did not finish within its time limit of {limit.total_seconds():g} seconds."
        )


def _canceled() -> bool:
    """Say whether the task is to end, rather than this attempt."""
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested


def _worker_stops() -> bool:
    """Say whether the attempt ends because its worker was told to stop."""
    details = activity.cancellation_details()
    return details is not None and details.worker_shutdown


async def _first_of(
    agent: "asyncio.Task[BaseException | None]", limit: "asyncio.Task[None]", event: asyncio.Event
) -> None:
    """Wait for whichever comes first; none is canceled."""
    waiting = asyncio.create_task(event.wait())
    try:
        await asyncio.wait([agent, limit, waiting], return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def _public_text(failure: BaseException) -> str | None:
    if isinstance(failure, errors.PublicError):
        return storable(failure.text)
    if isinstance(failure, A2AError):
        return storable(failure.message)
    return None


@contextlib.asynccontextmanager
async def heartbeats(
    interval: timedelta, details: Callable[[], Sequence[Any]] = tuple
) -> AsyncGenerator[None]:
    """Heartbeat for as long as the block lasts, with what the next attempt is to know."""

    async def beat() -> None:
        # Sleep first: the server counts from the start of the activity anyway, and short turns are
        # over before the first beat. That one comes early, because people cancel early: what they
        # have just sent, and a cancel reaches this code only with a beat.
        await asyncio.sleep(interval.total_seconds() / 2)
        while True:
            activity.heartbeat(*details())
            await asyncio.sleep(interval.total_seconds())

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
