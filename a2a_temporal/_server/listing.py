"""ListTasks: visibility names the tasks, and each is read from its log.

A2A wants the newest status first and keyset pages; visibility cannot sort. So a page is found by
walking windows of status time backwards, each sized by counting, and sorting inside the window.
"""

import asyncio
import base64
import binascii
import contextlib
import hashlib
import json
import logging
from dataclasses import dataclass
from typing import Any, cast

from a2a.types.a2a_pb2 import (
    ListTasksRequest,
    ListTasksResponse,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import (
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size
from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal._gateway import is_late, with_deadline
from a2a_temporal._log.state import LogState
from a2a_temporal._reading.decode import LogUnreadableError
from a2a_temporal._server.caller import Caller
from a2a_temporal._server.errors import is_unreadable
from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._server.task_index import TaskFilter, TaskIndex, TaskRow
from a2a_temporal._server.tasks import Tasks

logger = logging.getLogger("a2a_temporal.server")

# A window this full is read in one call; an emptier or fuller one is sized anew.
_WINDOW_ROWS = 400
_SEARCHES = 32
_SAMPLE = 100
# After so many, a window with few rows is taken as it is, or one with a few times too many.
_PATIENT_SEARCHES = 6
_LARGEST_WINDOW = 5
_FIRST_WIDTH = 60_000
_WIDEST = 2**53
_READS_AT_ONCE = 16


@dataclass(frozen=True)
class _Position:
    """The end of a page: the next one has the tasks below ``(at, task_id)``.

    ``width`` (milliseconds) is the window that was right there, a first guess for the next page.
    """

    at: int
    task_id: str
    width: int

    def token(self, filter_digest: str) -> str:
        fields = {"ts": self.at, "id": self.task_id, "w": self.width, "f": filter_digest}
        text = json.dumps(fields, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


class Listing:
    """Lists the tasks of one agent.

    Args:
        client: Connected client.
        tasks: Reads each task that visibility names.
        options: The handler's options.
    """

    def __init__(self, client: Client, tasks: Tasks, *, options: HandlerOptions) -> None:
        self._client = client
        self._tasks = tasks
        self._options = options

    async def page(self, caller: Caller, params: ListTasksRequest) -> ListTasksResponse:
        """Return one page of the caller's tasks, newest status first.

        Visibility is late, never wrong: a task whose log no longer matches is left out. A task
        whose log cannot be read in time is shown as visibility knows it. Asking visibility is
        bounded, and so is the reading of each log; the number of logs is not.

        Raises:
            InvalidParamsError: A value is out of its range, or the token is not of this list.
            UnsupportedOperationError: The namespace lacks the search attributes of tasks.
            InternalError: Temporal cannot be reached now.
        """
        wanted, size, after = _parse(caller, params)
        limit = self._options.answered_within
        index = TaskIndex(self._client, wanted, timeout=limit)
        walk = _Walk(index, size, after)
        tasks: dict[str, Task] = {}
        dropped = 0
        async with self._tasks.attributes.used():
            total = await with_deadline(limit, self._prepared(index, after))
            while len(tasks) < size:
                rows = await with_deadline(limit, walk.take(size - len(tasks)))
                if not rows:
                    break
                found = await self._read_all(caller, rows, wanted, params)
                tasks |= {task.id: task for task in found}
                dropped += len(rows) - len(found)
            token = await with_deadline(limit, walk.token(_digest(caller, wanted)))
        logger.debug("Listed %d tasks with %d visibility calls", len(tasks), index.calls)
        return ListTasksResponse(
            tasks=sorted(tasks.values(), key=_sort_key, reverse=True),
            next_page_token=token,
            page_size=size,
            total_size=max(total - dropped, len(tasks)),
        )

    async def _prepared(self, index: TaskIndex, after: _Position | None) -> int:
        """Return how many tasks there are, once visibility is known to know them."""
        await self._tasks.attributes.ensure()
        if not self._tasks.attributes.known:
            raise UnsupportedOperationError("Tasks cannot be listed at this server.")
        if after is None:
            await index.look(_WINDOW_ROWS)
        return await index.count(index.filter.after, None)

    async def _read_all(
        self, caller: Caller, rows: list[TaskRow], wanted: TaskFilter, params: ListTasksRequest
    ) -> list[Task]:
        room = asyncio.Semaphore(_READS_AT_ONCE)

        async def read(row: TaskRow) -> Task | None:
            async with room:
                try:
                    state = await self._read(caller, row, wanted)
                except (RPCError, asyncio.TimeoutError) as error:
                    if not is_late(error):
                        raise
                    return await self._as_known(row, params)
                except LogUnreadableError as error:
                    if not is_unreadable(error):
                        raise
                    # The other tasks must not be lost to their owner with this one.
                    logger.error("Task %s is left out of a list: it cannot be read", row.task_id)
                    return None
                return _as_asked(state, params) if state is not None else None

        tasks = await asyncio.gather(*(read(row) for row in rows))
        return [task for task in tasks if task is not None]

    async def _as_known(self, row: TaskRow, params: ListTasksRequest) -> Task | None:
        """Return a task whose log cannot be read in time, as visibility knows it."""
        if params.include_artifacts or (row.closed and not await self._is_newest(row)):
            logger.warning("Task %s is left out of a list: its log takes too long", row.task_id)
            return None
        logger.warning("Task %s is listed without history: its log takes too long", row.task_id)
        task = Task(id=row.task_id, status=TaskStatus(state=row.state))
        task.status.timestamp.FromMilliseconds(row.at)
        task.context_id = self._tasks.context_of(row.task_id) or params.context_id or row.context_id
        return task

    async def _is_newest(self, row: TaskRow) -> bool:
        """Say whether a row is of its task's newest run: one that a reset has replaced is not."""
        with contextlib.suppress(TaskNotFoundError):  # deleted just now
            return await self._tasks.newest_run(row.task_id) == row.run_id
        return False

    async def _read(self, caller: Caller, row: TaskRow, wanted: TaskFilter) -> LogState | None:
        """Return a task's log if the task is still what the list asks for."""
        try:
            reading = self._tasks.read(caller, row.task_id)
            state = await with_deadline(self._options.read_timeout, reading)
        except TaskNotFoundError:
            return None
        if not _matches(state, wanted):
            return None
        if row.closed and _sort_key(state.task) != (row.at, row.task_id):
            return state if await self._is_newest(row) else None
        return state


class _Walk:
    """Goes through the rows of a filter, newest first."""

    def __init__(self, index: TaskIndex, size: int, after: _Position | None) -> None:
        self._index = index
        self._size = size
        self._after = after
        self._top = after.at if after else None
        self._width = after.width if after else _FIRST_WIDTH
        self._rows: list[TaskRow] = []
        self._last = after
        self._at_end = False

    async def take(self, number: int) -> list[TaskRow]:
        """Return the next rows; none at the end."""
        while len(self._rows) < number and not self._at_end:
            await self._read_window()
        taken, self._rows = self._rows[:number], self._rows[number:]
        if taken:
            self._last = _Position(taken[-1].at, taken[-1].task_id, self._width)
        return taken

    async def token(self, filter_digest: str) -> str:
        """Return the token of the page behind the rows taken; empty when there is none."""
        while not self._rows and not self._at_end:
            await self._read_window()
        return self._last.token(filter_digest) if self._rows and self._last else ""

    async def _read_window(self) -> None:
        oldest = self._index.filter.after
        total = await self._index.count(oldest, None)
        if total > _WINDOW_ROWS:
            rest = await self._index.count(oldest, self._top)
        else:
            rest = total  # and no more than that
        if rest <= _WINDOW_ROWS:
            bottom = oldest
            self._at_end = True
        else:
            bottom = await self._bottom()
        rows = await self._index.rows(bottom, self._top) if rest else []
        if self._after is not None:
            done = (self._after.at, self._after.task_id)
            rows = [row for row in rows if (row.at, row.task_id) < done]
        self._rows += sorted(rows, key=lambda row: (row.at, row.task_id), reverse=True)
        if not self._at_end:
            self._top = bottom - 1

    async def _bottom(self) -> int:
        """Return from when on the window has more than a page, and no more than one call reads.

        There are more rows below the top than fit. A window known to be too full says by some of
        its rows how wide the right one is, one too empty by its density; guesses stay between the
        two. Where a burst of one moment lies, a window that is not quite right has to do.
        """
        top = self._index.now() if self._top is None else self._top
        width = min(self._width, _WIDEST)
        empty, full = (0, 0), (_WIDEST, _WIDEST)
        for search in range(_SEARCHES):
            found = await self._index.count(top - width + 1, self._top)
            if self._size < found <= _WINDOW_ROWS:
                break
            if found > _WINDOW_ROWS:
                full = (width, found)
            else:
                empty = (width, found)
            close = _close_enough(empty, full, patient=search < _PATIENT_SEARCHES)
            if close:
                width = close
                break
            if found > _WINDOW_ROWS:
                guess = min(await self._width_by_sample(top, full), width - 1)
            else:
                guess = int(width * 2 * self._size / found) if found else width * 64
            width = guess if empty[0] < guess < full[0] else _between(empty[0], full[0])
        self._width = width
        return top - width + 1

    async def _width_by_sample(self, top: int, full: tuple[int, int]) -> int:
        """Return the width of about two pages, judged by some rows of a window too full."""
        width, found = full
        sample = await self._index.some(top - width + 1, self._top, _SAMPLE)
        newest_first = sorted((row.at for row in sample), reverse=True)
        if not newest_first:
            return width
        wanted = len(newest_first) * 2 * self._size // found
        return top - newest_first[min(wanted, len(newest_first) - 1)] + 1


def _close_enough(empty: tuple[int, int], full: tuple[int, int], *, patient: bool) -> int:
    """Return the width to be content with, given (width, rows) on both sides; 0 for none yet."""
    if full[0] - empty[0] <= 1:
        return full[0]
    if patient:
        return 0
    if empty[1]:
        return empty[0]
    return full[0] if full[1] <= _LARGEST_WINDOW * _WINDOW_ROWS else 0


def _between(empty: int, full: int) -> int:
    """Return the middle of two widths: in magnitude where they are far apart."""
    if full > 4 * max(empty, 1):
        return max(empty + 1, int((max(empty, 1) * full) ** 0.5))
    return max((empty + full) // 2, empty + 1)


def _parse(caller: Caller, params: ListTasksRequest) -> tuple[TaskFilter, int, _Position | None]:
    validate_history_length(params)
    if params.HasField("page_size"):
        validate_page_size(params.page_size)
    if params.status and params.status not in TaskState.values():
        raise InvalidParamsError(f"status {params.status} is no task state.")
    after = 0
    if params.HasField("status_timestamp_after"):
        after = -(-params.status_timestamp_after.ToNanoseconds() // 1_000_000)
    wanted = TaskFilter(
        agent=caller.agent,
        owner=caller.owner,
        tenant=caller.tenant,
        context_id=params.context_id,
        state=params.status,
        after=after,
    )
    position = _position(params.page_token, _digest(caller, wanted)) if params.page_token else None
    return wanted, params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE, position


def _position(token: str, filter_digest: str) -> _Position:
    """Read a page token.

    Raises:
        InvalidParamsError: It is none, or one of another list.
    """
    try:
        fields: Any = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        fields = None
    if isinstance(fields, dict):
        known = cast("dict[str, Any]", fields)
        match known:
            case {"ts": int(at), "id": str(task_id), "w": int(width), "f": str(digest)} if (
                digest == filter_digest and 0 <= at < _WIDEST and 0 < width <= _WIDEST
            ):
                return _Position(at, task_id, width)
            case _:
                pass
    raise InvalidParamsError(
        "pageToken is not one of this list. Take it from the previous page and repeat that page's "
        "filter, as the same user."
    )


def _digest(caller: Caller, wanted: TaskFilter) -> str:
    scope = [caller.agent, caller.owner, caller.tenant]
    name = json.dumps([*scope, wanted.context_id, wanted.state, wanted.after])
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _matches(state: LogState, wanted: TaskFilter) -> bool:
    task = state.task
    return (
        not state.never_told
        and wanted.state in (TaskState.TASK_STATE_UNSPECIFIED, task.status.state)
        and wanted.context_id in ("", task.context_id)
        and task.status.timestamp.ToMilliseconds() >= wanted.after
    )


def _as_asked(state: LogState, params: ListTasksRequest) -> Task:
    task = state.copy_task()
    if not params.include_artifacts:
        task.ClearField("artifacts")
    return apply_history_length(task, params)


def _sort_key(task: Task) -> tuple[int, str]:
    return task.status.timestamp.ToMilliseconds(), task.id
