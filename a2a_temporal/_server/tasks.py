"""The tasks of one agent, as a caller may read and follow them.

Every read checks first that the task exists for the caller: foreign, unknown and expired tasks and
workflows that are no task of this agent are one and the same TaskNotFoundError.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Generator
from datetime import timedelta
from functools import partial

from temporalio.api.history.v1 import WorkflowExecutionStartedEventAttributes
from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal._gateway import Gateway, is_missing_workflow, with_deadline
from a2a_temporal._log.kept import KeptLogs
from a2a_temporal._log.payloads import LogUnreadableError
from a2a_temporal._log.reading import Admit, AdmitState, NoTaskError
from a2a_temporal._log.state import LogState
from a2a_temporal._server.caller import Caller
from a2a_temporal._server.errors import UnavailableError, not_found, why_unreadable
from a2a_temporal._server.follower import Cursor, LogEvent, Reader
from a2a_temporal._server.followers import Followers
from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._server.plain import PlainWorkflow
from a2a_temporal._server.resume import events_after
from a2a_temporal._server.search_attributes import Registration

logger = logging.getLogger("a2a_temporal.server")

# Of a workflow, by Temporal's default; it calls a longer one an invalid argument.
_LONGEST_ID = 1000

SHOWN_WITHIN = timedelta(seconds=9)
"""How long what was signaled is waited for in the history.

A signal that comes during a workflow task shows when that is over; one of a killed worker runs out
after 10 s.
"""


class Tasks:
    """The tasks of one agent.

    What goes wrong is raised as it is; the operations of the handler make A2A errors of it.

    Args:
        client: Connected client.
        agent: Identity of the agent.
        task_queue: Where its workers listen.
        workflow: The workflow type that is the agent.
        options: The handler's options.

    Attributes:
        temporal: The calls to Temporal.
        task_queue: Where the agent's workers listen.
        workflow: The workflow type that is the agent.
        plain: The existing workflow that is the agent, if it knows nothing of A2A.
        attributes: The search attributes that tasks are found by.
    """

    def __init__(
        self,
        client: Client,
        *,
        agent: str,
        task_queue: str,
        workflow: str | PlainWorkflow,
        options: HandlerOptions,
    ) -> None:
        self.temporal: Gateway = Gateway(client, timeout=options.read_timeout)
        self.task_queue: str = task_queue
        plain = workflow if isinstance(workflow, PlainWorkflow) else None
        self.plain: PlainWorkflow | None = plain
        self.workflow: str = plain.type if plain else str(workflow)
        self.attributes: Registration = Registration(self.temporal)
        self._client = client
        self._render_result = plain.result if plain else None
        self._logs = KeptLogs(self._render_result, timeout=options.read_timeout)
        self._followers = Followers(
            client,
            agent=agent,
            long_polls=options.long_polls,
            render_result=self._render_result,
        )

    async def aclose(self) -> None:
        """End all readers where they are."""
        await self._followers.aclose()

    async def read(self, caller: Caller, task_id: str) -> LogState:
        """Return what a task's log says now.

        Whose task it is, is decided by the first event of its history, before the rest is read. A
        reading that is interrupted is gone on with by the next one.

        Raises:
            TaskNotFoundError: There is no such task for this caller.
        """
        admit = partial(self._admit, caller)
        state = await self.log(task_id, admit=admit, admit_state=caller.may_be_shown)
        if not caller.may_see(state):
            raise not_found(task_id)
        return state

    async def log(
        self,
        task_id: str,
        *,
        admit: Admit | None = None,
        admit_state: AdmitState | None = None,
    ) -> LogState:
        """Return what a task's log says now, whoever may see it.

        Raises:
            TaskNotFoundError: There is no such task, or none that is admitted.
        """
        # Temporal is asked of no id that it would not take for one.
        if not 0 < len(task_id.encode()) <= _LONGEST_ID:
            raise not_found(task_id)
        with _known_as_task(task_id):
            return await self._logs.read(
                self._client, task_id, admit=admit, admit_state=admit_state
            )

    def context_of(self, task_id: str) -> str:
        """Return the contextId of a task that was read here lately, in part at least."""
        return self._logs.context_of(task_id)

    def _admit(
        self, caller: Caller, started: WorkflowExecutionStartedEventAttributes
    ) -> bool | None:
        """Decide whose task it is before anything is decoded, as far as that shows.

        Where a namespace has no search attributes, a workflow of the agent's own type and queue is
        taken for a task that cannot be decoded, not for a workflow of others.
        """
        shown = caller.may_be_shown_by(started)
        if shown is None and started.workflow_type.name == self.workflow:
            return True if started.task_queue.name == self.task_queue else None
        return shown

    async def newest_run(self, task_id: str) -> str:
        """Return the id of the run in which a task is now.

        Raises:
            TaskNotFoundError: It was deleted.
        """
        with _known_as_task(task_id):
            found = await self.temporal.describe(task_id)
        return found.workflow_execution_info.execution.run_id

    async def events_after(self, task_id: str, after: Cursor | None) -> list[LogEvent] | None:
        """Return what the log holds behind a cursor; ``None`` when the cursor is of no use.

        So it is where the log takes too long to read once more.
        """
        if after is None:
            return None
        limit = self.temporal.timeout
        reading = events_after(
            self._client, task_id, after, timeout=limit, render_result=self._render_result
        )
        try:
            with _known_as_task(task_id):
                return await with_deadline(limit, reading)
        except asyncio.TimeoutError:
            logger.info("The log of task %s takes too long to resume a stream", task_id)
            return None

    @contextlib.asynccontextmanager
    async def follow(
        self, caller: Caller, task_id: str, known: LogState | None
    ) -> AsyncGenerator[Reader]:
        """Follow a task's log on from what was just read of it, or a new one from its start.

        Raises:
            TaskNotFoundError: There is no such task for this caller, or no longer.
            UnavailableError: The log cannot be read on now.
        """
        run_id = known.run_id if known else ""
        following = self._followers.follow(task_id, from_start=known is None, run_id=run_id)
        with _known_as_task(task_id):
            async with following as reader:
                # A reader may stand at a place where less was asked than by now.
                if not caller.may_see(known or reader.state):
                    raise not_found(task_id)
                if known is not None:
                    await self._catch_up(reader, known)
                yield reader

    async def _catch_up(self, reader: Reader, state: LogState) -> None:
        """Read on a log that nobody has read for a while, up to what was just read of it.

        The reader stands behind that: what it passes over was published before.
        """
        newer = state.entries
        replaced = ""
        if reader.run_id != state.run_id:
            newest = await self.newest_run(state.task.id)
            # A run that was reset may have more entries than the one that took its place.
            replaced = reader.run_id if reader.run_id != newest else ""

        def caught_up(now: LogState) -> bool:
            return now.entries >= newer and reader.run_id != replaced

        await wait_until(reader, caught_up, self.temporal.timeout)
        abandoned = reader.ended and reader.run_id == replaced
        if abandoned or (reader.state.entries < newer and not reader.ended):
            raise UnavailableError
        reader.skip()


async def wait_until(
    reader: Reader, reached: Callable[[LogState], bool], limit: timedelta | None
) -> None:
    """Return once the log has reached a point, the limit has passed, or the log ends.

    Raises:
        NoTaskError: The log is no longer there.
        temporalio.service.RPCError: It can no longer be read.
    """

    async def reaching() -> None:
        while not reached(reader.state) and not reader.ended:
            await reader.changed()

    if not reached(reader.state):
        with contextlib.suppress(asyncio.TimeoutError):
            await (reaching() if limit is None else with_deadline(limit, reaching()))
    if reader.failure is not None and not reached(reader.state):
        raise reader.failure


@contextlib.contextmanager
def _known_as_task(task_id: str) -> Generator[None]:
    """Raise the one TaskNotFoundError for a workflow that does not exist or is no task."""
    try:
        yield
    except NoTaskError as error:
        raise not_found(task_id) from error
    except RPCError as error:
        if is_missing_workflow(error):
            raise not_found(task_id) from error
        raise
    except LogUnreadableError as error:
        logger.error("Task %s cannot be read here: %s", task_id, why_unreadable(error))
        raise
