"""The library's side of a ``TaskRun``: its log, its agent, and what interceptors do to it."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NoReturn, TypeVar
from weakref import WeakSet

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from a2a.types.a2a_pb2 import TaskState

    from a2a_temporal._log.entries import TaskStart
    from a2a_temporal._worker.agent.loop import AgentLoop
    from a2a_temporal._worker.approvals.asking import Asking
    from a2a_temporal._worker.approvals.pending_requests import PendingRequests
    from a2a_temporal._worker.failures import misused
    from a2a_temporal._worker.instance import bind, bound
    from a2a_temporal._worker.task.task_log import ReceivedMessage, TaskLog

T = TypeVar("T")

_in_handler: ContextVar[bool] = ContextVar("_in_handler", default=False)


class TaskControl:
    """What the library knows of a workflow with a ``TaskRun``.

    Args:
        start: The workflow's input.

    Attributes:
        log: The task's log.
        agent: The worker's agent, which works when the author calls ``run_agent``.
        requests: The requests to people.
        failure: Fails the task, whatever the author's code does.
        next_run: What the author hands to the next run, once they have called for one.
    """

    def __init__(self, start: TaskStart) -> None:
        if bound(TaskControl) is not None:
            raise misused("This workflow makes a second TaskRun. Make one, in @workflow.init.")
        self.log = TaskLog(start)
        self.agent = AgentLoop(self.log)
        self.requests = PendingRequests(self.log, self.agent)
        self.failure: BaseException | None = None
        self.next_run: tuple[Any] | None = None
        self._first: ReceivedMessage | None = None  # until the agent is given it
        if (known := self.log.carried) is None:
            self._first = self.log.inbox.popleft()
        else:
            self.requests.restore(known.requests)
            if known.first:
                self._first = ReceivedMessage(self.log.state.task.history[0], start.request)
            # No message of an earlier run answers what this one has yet to ask.
            self.requests.messages.extend(self.log.inbox)
            self.log.inbox.clear()
        self._began_at = workflow.info().get_current_history_length()
        self._acted = False  # the author's code has done what a new run would do again
        self._agent_called = False
        self._askings: WeakSet[Asking[Any]] = WeakSet()
        self._serving = asyncio.create_task(self._serve())
        bind(self)

    # ------------------------------------------------------ what interceptors do

    def note_act(self, handle: "asyncio.Task[Any] | None" = None) -> None:
        """Note what the author's code has done before its agent, for a new run would do it again.

        What a handler does is not noted: a new run does not receive its signal or update again.

        Args:
            handle: What it has begun, which counts once that is done. What goes on beside the agent
                is begun anew with it.
        """
        if self._agent_called or _in_handler.get():
            return
        if handle is None:
            self._acted = True
        else:
            handle.add_done_callback(lambda _: self.note_done())

    @property
    def never_awaited(self) -> ApplicationError | None:
        """The failure of a task whose code never awaited what it has called."""
        return next((each.never_awaited() for each in self._askings if not each.awaited), None)

    def check_asked(self) -> None:
        """Check that nothing is done while a question waits to be awaited, and so asked.

        Raises:
            ApplicationError: It does; the task fails with it, whatever its code makes of that.
        """
        idle = [each for each in self._askings if not each.awaited]
        if not idle:
            return
        begins = {id(each.get_coro()) for each in asyncio.all_tasks()}
        for each in idle:
            if id(each) not in begins:
                failure = each.never_awaited()
                self._note_lost(failure)
                raise failure

    def end(self, state: TaskState, text: str = "") -> None:
        """End the task."""
        self.requests.take_back_all("the end of the task")
        self.log.emit_status(state, text)
        self.requests.show()

    async def switch(self) -> NoReturn:
        """Do what :meth:`continue_as_new` was called for, with all that has come since.

        The author's code may have gone on for a while, and the run may be one that cannot end at
        once.
        """
        await self.log.settle()
        self.requests.take_back_all("the new run of the workflow")
        self.continue_as_new(*(self.next_run or (None,)))

    # ---------------------------------------------------------- what TaskRun does

    def note_done(self) -> None:
        """Note that the author's code has done what a new run would do again."""
        self._acted = True

    def asking(
        self, name: str, code: Callable[[], Coroutine[Any, Any, T]]
    ) -> Coroutine[Any, Any, T]:
        """Return what a method of ``TaskRun`` returns that has to be awaited."""
        asking = Asking(name, code, self._note_lost)
        self._askings.add(asking)
        return asking

    async def run_agent(self, carried: Any) -> None:
        """Let the agent handle the task; a new run may take over once it is long.

        Args:
            carried: The author's state for the new run; without, none takes over from code that has
                done anything which it would do again.
        """
        if self._first is not None:
            self.requests.messages.appendleft(self._first)
            self._first = None
        waited = workflow.info().get_current_history_length() != self._began_at
        self._acted = self._acted or waited
        self._agent_called = True

        def continue_as_new() -> None:
            begins_anew = carried is None and not self._acted
            if not self.requests.open_requests and (begins_anew or carried is not None):
                self.continue_as_new(self.log.state.start.carried if carried is None else carried)

        await self.agent.run(self.requests.messages, continue_as_new=continue_as_new)

    def continue_as_new(self, carried: Any) -> NoReturn:
        """Let a new run take over.

        Raises:
            ApplicationError: A request is open, or the agent works.
            PublicError: All that is carried over is more than Temporal takes.
        """
        if self.requests.open_requests:
            raise ApplicationError(
                f"continue_as_new was called while {self.requests.open_requests[0].id!r} is open. "
                "Call it when no request waits for an answer.",
                non_retryable=True,
            )
        if self.agent.active:
            raise ApplicationError(
                "continue_as_new was called while the agent works, whose turn would be lost. "
                "run_agent(carried=...) does it by itself when it is time.",
                non_retryable=True,
            )
        snapshot = replace(
            self.agent.carry(self.log.snapshot([*self.requests.messages, *self.log.inbox])),
            requests=self.requests.carried(),
            first=self._first is not None,
        )
        try:
            self.log.continue_as_new(snapshot, author=carried)
        except workflow.ContinueAsNewError:
            self.next_run = (carried,)
            raise

    def _note_lost(self, failure: ApplicationError) -> None:
        self.failure = self.failure or failure

    async def _serve(self) -> None:
        try:
            await self.requests.serve()
        except Exception as failure:  # the inbound interceptor fails the task with it
            self.failure = failure


def in_handler() -> None:
    """Have what the present ``asyncio`` task does count as done by a signal or update handler."""
    _in_handler.set(True)
