"""The visibility index of tasks: count and find them by owner, context, state and time."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from a2a.types.a2a_pb2 import TaskState
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.client import Client

from a2a_temporal._gateway import OPEN_STATUSES, Gateway
from a2a_temporal._log import wire
from a2a_temporal._log.entries import now_text
from a2a_temporal._log.indexing import HASHED, indexed, keyword, keywords, quote
from a2a_temporal._log.state import TERMINAL_STATES, state_name

_PAGE = 1000
_LATEST = 7_258_118_400_000  # the year 2200: a later time overflows Temporal's nanoseconds

_STATE = wire.STATE_ATTRIBUTE
_TERMINAL = {state_name(state) for state in TERMINAL_STATES}
_STATES = {
    state_name(state): state
    for state in (
        TaskState.TASK_STATE_SUBMITTED,
        TaskState.TASK_STATE_WORKING,
        TaskState.TASK_STATE_INPUT_REQUIRED,
        TaskState.TASK_STATE_AUTH_REQUIRED,
        *TERMINAL_STATES,
    )
}
_STATUS = "WORKFLOW_EXECUTION_STATUS_"
# How Temporal can end a task that has not ended by itself, and the state that it then has.
_CLOSED_AS = {
    "Completed": TaskState.TASK_STATE_COMPLETED,
    "Failed": TaskState.TASK_STATE_FAILED,
    "Terminated": TaskState.TASK_STATE_FAILED,
    "TimedOut": TaskState.TASK_STATE_FAILED,
    "Canceled": TaskState.TASK_STATE_CANCELED,
}


@dataclass(frozen=True)
class TaskFilter:
    """Which tasks are asked for. Times are milliseconds since 1970."""

    agent: str
    owner: str
    tenant: str
    context_id: str = ""
    state: TaskState = TaskState.TASK_STATE_UNSPECIFIED
    after: int = 0


@dataclass(frozen=True)
class TaskRow:
    """A task as visibility knows it: possibly late."""

    task_id: str
    run_id: str
    at: int
    closed: bool
    state: TaskState
    context_id: str = ""


class TaskIndex:
    """Counts and finds the tasks of a filter by the time of their status.

    A task whose workflow was terminated, timed out or failed without a terminal entry still has the
    search attributes of before; it counts by its execution status and close time.

    Attributes:
        filter: Selects the tasks.
        calls: The number of visibility calls made so far.
    """

    def __init__(self, client: Client, wanted: TaskFilter, *, timeout: timedelta) -> None:
        self.filter = wanted
        self.calls = 0
        self._temporal = Gateway(client, timeout=timeout)
        self._counts: dict[str, int] = {}
        self._small: dict[str, list[TaskRow]] = {}

    @staticmethod
    def now() -> int:
        """The present time."""
        return int(datetime.now(timezone.utc).timestamp() * 1000)

    async def count(self, bottom: int, top: int | None) -> int:
        """Count tasks whose status is of ``bottom`` to ``top``, both included."""
        query = self._query(bottom, top)
        if query not in self._counts:
            self.calls += 1
            self._counts[query] = await self._temporal.count(query)
        return self._counts[query]

    async def rows(self, bottom: int, top: int | None) -> list[TaskRow]:
        """Return the tasks whose status is of ``bottom`` to ``top``, in no order."""
        known = self._small.get(self._query(bottom, top))
        if known is not None:
            return known
        rows: list[TaskRow] = []
        token = b""
        while True:
            page, token = await self._page(bottom, top, _PAGE, token)
            rows += page
            if not token:
                return rows

    async def look(self, most: int) -> None:
        """Read all tasks of the filter if they are fewer than ``most``.

        They then cost this one call: counting and reading them asks no further one.
        """
        query = self._query(self.filter.after, None)
        rows, token = await self._page(self.filter.after, None, most, b"")
        if not token:
            self._counts[query], self._small[query] = len(rows), rows

    async def some(self, bottom: int, top: int | None, number: int) -> list[TaskRow]:
        """Return any of these tasks, no more than ``number``."""
        page, _ = await self._page(bottom, top, number, b"")
        return page

    async def _page(
        self, bottom: int, top: int | None, size: int, token: bytes
    ) -> tuple[list[TaskRow], bytes]:
        self.calls += 1
        query = self._query(bottom, top)
        page = await self._temporal.list_page(query, size=size, token=token)
        return [_row(info) for info in page.executions], page.next_page_token

    def _query(self, bottom: int, top: int | None) -> str:
        wanted = self.filter
        scope = {
            wire.AGENT_ATTRIBUTE: wanted.agent,
            wire.OWNER_ATTRIBUTE: wanted.owner,
            wire.TENANT_ATTRIBUTE: wanted.tenant,
        }
        if wanted.context_id:
            scope[wire.CONTEXT_ATTRIBUTE] = wanted.context_id
        conditions = [f"{name} = {quote(keyword(value))}" for name, value in scope.items()]
        conditions.append("ExecutionStatus != 'ContinuedAsNew'")
        either = [_indexed(wanted.state) + _between(wire.UPDATED_ATTRIBUTE, bottom, top)]
        ends = [
            name
            for name, state in _CLOSED_AS.items()
            if wanted.state in (TaskState.TASK_STATE_UNSPECIFIED, state)
        ]
        if ends:
            ended = f"ExecutionStatus IN {_list(ends)} AND {_STATE} NOT IN {_list(_TERMINAL)}"
            either.append(ended + _between("CloseTime", bottom, top))
        alternatives = " OR ".join(f"({each})" for each in either)
        return f"{' AND '.join(conditions)} AND ({alternatives})"


def _indexed(state: TaskState) -> str:
    """Return the condition of tasks whose state attribute is up to date."""
    current = f"({_STATE} IN {_list(_TERMINAL)} OR ExecutionStatus NOT IN {_list(_CLOSED_AS)})"
    if state == TaskState.TASK_STATE_UNSPECIFIED:
        return current
    return f"{current} AND {_STATE} = {quote(state_name(state))}"


def _between(name: str, bottom: int, top: int | None) -> str:
    text = ""
    if bottom > 0:
        text += f" AND {name} >= {_time(bottom)}"
    if top is not None:
        text += f" AND {name} < {_time(top + 1)}"
    return text


def _time(milliseconds: int) -> str:
    at = datetime.fromtimestamp(0, timezone.utc) + timedelta(
        milliseconds=max(0, min(milliseconds, _LATEST))
    )
    return quote(now_text(at))


def _list(values: Iterable[str]) -> str:
    return f"({', '.join(quote(value) for value in sorted(values))})"


def _row(info: WorkflowExecutionInfo) -> TaskRow:
    state, updated = indexed(info.search_attributes)
    closed = info.status not in OPEN_STATUSES
    at = updated or info.start_time.ToMilliseconds()
    if closed and state not in _TERMINAL:
        at = info.close_time.ToMilliseconds()
        status = WorkflowExecutionStatus.Name(info.status).removeprefix(_STATUS)
        found = _CLOSED_AS.get(status.title().replace("_", ""), TaskState.TASK_STATE_FAILED)
    else:
        found = _STATES.get(state, TaskState.TASK_STATE_UNSPECIFIED)
    context = keywords(info.search_attributes).get(wire.CONTEXT_ATTRIBUTE, "")
    hashed = context.startswith(HASHED)
    execution = info.execution
    return TaskRow(
        execution.workflow_id, execution.run_id, at, closed, found, "" if hashed else context
    )
