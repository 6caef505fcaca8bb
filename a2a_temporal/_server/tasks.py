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
from a2a_temporal._log.state import LogState
from a2a_temporal._reading.cache import Logs
from a2a_temporal._reading.decode import LogUnreadableError
from a2a_temporal._reading.position import LogEvent, LogPosition
from a2a_temporal._reading.reader import Admit, AdmitState, NoTaskError
from a2a_temporal._server.caller import Caller
from a2a_temporal._server.errors import not_found, why_unreadable
from a2a_temporal._server.feed import Subscription
from a2a_temporal._server.feeds import Feeds
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
        self._render_result = plain.result if plain else None
        self._logs = Logs(client, render_result=self._render_result, timeout=options.read_timeout)
        self._feeds = Feeds(client, self._logs, agent=agent, long_polls=options.long_polls)

    async def aclose(self) -> None:
        """End all readers where they are."""
        await self._feeds.aclose()

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
            return await self._logs.state(task_id, admit=admit, admit_state=admit_state)

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

    async def events_after(
        self, reader: Subscription, after: LogPosition | None
    ) -> list[LogEvent] | None:
        """Return what the log holds behind a cursor; ``None`` when the cursor is of no use.

        So it is where the log takes too long to read once more.
        """
        if after is None:
            return None
        reading = events_after(
            self.temporal,
            reader.task_id,
            after,
            newest_run=reader.run_id,
            render_result=self._render_result,
        )
        try:
            with _known_as_task(reader.task_id):
                return await with_deadline(self.temporal.timeout, reading)
        except asyncio.TimeoutError:
            logger.info("The log of task %s takes too long to resume a stream", reader.task_id)
            return None

    @contextlib.asynccontextmanager
    async def follow(
        self, caller: Caller, task_id: str, known: LogState | None
    ) -> AsyncGenerator[Subscription]:
        """Follow a task's log on from what was just read of it, or a new one from its start.

        Raises:
            TaskNotFoundError: There is no such task for this caller, or no longer.
        """
        with _known_as_task(task_id):
            async with self._feeds.follow(task_id, new=known is None) as reader:
                if not caller.may_see(reader.state):
                    raise not_found(task_id)
                yield reader


async def wait_until(
    reader: Subscription, reached: Callable[[LogState], bool], limit: timedelta | None
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
