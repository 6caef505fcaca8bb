"""The task's end of push notifications: start the delivery workflow and notify it.

Without a config nothing happens at all. With one, the task's workflow never waits for a receiver:
it starts a child once a run and signals it, a few times a second at most, that the log has grown.
"""

import asyncio
import contextlib
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import FailureError, WorkflowAlreadyStartedError
from temporalio.worker import ExecuteWorkflowInput, WorkflowInboundInterceptor
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    from a2a_temporal._log import wire
    from a2a_temporal._log.state import LogState
    from a2a_temporal._worker.instance import bind, bound
    from a2a_temporal._worker.push.contract import PushStart, configs_of

NOTIFY_INTERVAL = timedelta(milliseconds=250)


class PushChild:
    """The delivery workflow as seen by the task's workflow.

    Args:
        state: The folded log; shared, and read whenever the child is notified.
        number: The number of the previous run's child, 0 for none.

    Attributes:
        number: The number of the newest child, which the next run must know.
    """

    def __init__(self, state: LogState, number: int) -> None:
        self._state = state
        self.number: int = number
        self._previous = ""
        self._grown = 0
        self._notified = 0
        self._started = False
        self._orphaned = False
        self._running: asyncio.Task[None] | None = None
        bind(self)
        workflow.register_random_seed_callback(self._note_reset)
        self.notify()

    def notify(self) -> None:
        """Have the child learn that the log has grown."""
        self._grown += 1
        if self._running is None and self._state.push_configs:
            self._take_number()
            self._running = asyncio.create_task(self._run())

    @property
    def settled(self) -> bool:
        """True when the close of the task would reach the child, if there is to be one."""
        return self._running is None or (self._started and not self._orphaned)

    async def settle(self) -> None:
        """Wait until the child exists. A cancel stops only the waiting."""
        await workflow.wait_condition(lambda: self.settled)

    async def _run(self) -> None:
        await self._start()
        last = workflow.now()
        while True:
            await workflow.wait_condition(lambda: self._orphaned or self._notified != self._grown)
            rest = NOTIFY_INTERVAL - (workflow.now() - last)
            if rest > timedelta(0):
                await asyncio.sleep(rest.total_seconds())
            last = workflow.now()
            self._notified = self._grown
            if self._orphaned:
                await self._replace()
                continue
            child = workflow.get_external_workflow_handle(self._id)
            try:
                await child.signal(wire.PUSH_NOTIFY_SIGNAL, configs_of(self._state))
            except FailureError:
                workflow.logger.warning("The delivery workflow %s is gone", self._id)
                self._take_number()
                await self._start()

    def _note_reset(self, seed: int) -> None:
        """Note that the run was reset here: the child learns nothing of the new run.

        A reset gives a run a new random seed, at the same place in each replay of its history.
        """
        if self._running is not None:
            self._orphaned = True
            self._grown += 1

    async def _replace(self) -> None:
        """Have the orphaned child hand over to a new one."""
        self._orphaned = self._started = False
        await self._end_orphan()
        self._take_number()
        await self._start()

    async def _end_orphan(self) -> None:
        orphan = workflow.get_external_workflow_handle(self._id)
        with contextlib.suppress(FailureError):
            await orphan.cancel()

    @property
    def _id(self) -> str:
        return wire.push_workflow_id(self._state.start.task_id, self.number)

    def _take_number(self) -> None:
        """Name the next child; at once, so that a continue-as-new carries the name of this one."""
        self._previous = self._id if self.number else ""
        self.number += 1
        self._started = False

    async def _start(self) -> None:
        """Start the named child, which takes over from the one before."""
        start = self._state.start
        while True:
            self._notified = self._grown
            try:
                await workflow.start_child_workflow(
                    wire.PUSH_WORKFLOW,
                    PushStart(
                        task_id=start.task_id,
                        run_id=workflow.info().run_id,
                        number=self.number,
                        configs=configs_of(self._state),
                        previous=self._previous,
                        search_attributes=start.search_attributes,
                    ),
                    id=self._id,
                    id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                    parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
                    cancellation_type=ChildWorkflowCancellationType.ABANDON,
                    static_summary="Push notifications",
                )
            except WorkflowAlreadyStartedError:
                # Of a run that was reset to before it had started this one.
                await self._end_orphan()
                self._take_number()
                continue
            break
        self._started = True


class PushInboundInterceptor(WorkflowInboundInterceptor):
    """Lets no run of a task close before its delivery workflow exists, however the run ends."""

    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        """Run the workflow's code, then wait for the child if one is being started."""
        child = bound(PushChild)
        try:
            result = await super().execute_workflow(input)
        except GeneratorExit:  # dropped from the worker's cache: the run does not close
            raise
        except BaseException:
            await _settled(child)
            raise
        await _settled(child)
        return result


async def _settled(child: PushChild | None) -> None:
    """Wait for the child, if there is to be one; a cancel changes nothing of how the run ends."""
    while child is not None and not child.settled:
        with contextlib.suppress(asyncio.CancelledError):
            await child.settle()
