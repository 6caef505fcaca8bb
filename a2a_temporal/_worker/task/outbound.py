"""Note what a workflow with a ``TaskRun`` calls, and refuse what Temporal would not take.

Temporal would refuse the whole workflow task, which is then tried again for ever, its task WORKING.
Here the author's own call raises, and says how large what was. What the library itself hands to its
delivery workflow always leaves: a request has room for it beyond the budget of a workflow task.

A payload codec of the user's own may make payloads smaller than what is seen here: then nothing is
refused.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NoReturn, TypeVar, cast

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import is_cancelled_exception
from temporalio.worker import (
    ContinueAsNewInput,
    SignalChildWorkflowInput,
    SignalExternalWorkflowInput,
    StartActivityInput,
    StartChildWorkflowInput,
    StartLocalActivityInput,
    WorkflowOutboundInterceptor,
)

from a2a_temporal._log import wire
from a2a_temporal._worker.instance import bound
from a2a_temporal._worker.options import agent_options
from a2a_temporal._worker.task.control import TaskControl
from a2a_temporal.errors import PublicError

_StartInput = TypeVar("_StartInput", StartActivityInput, StartLocalActivityInput)
_Handle = TypeVar("_Handle", bound="asyncio.Task[Any]")

_BELOW_A_TASK = {wire.CHILD_HEADER: Payload(metadata={"encoding": b"json/plain"}, data=b"true")}
# What the SDK does where nothing else is said.
_CHILD_WAITS = workflow.ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED

_TRY = workflow.ActivityCancellationType.TRY_CANCEL
_WAIT = workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED
_OF_AN_AGENT = (wire.RUN_AGENT_ACTIVITY, wire.CANCEL_AGENT_ACTIVITY)

_HEARTBEAT_TIMEOUT: Final = timedelta(minutes=1)
"""Longer than that of agents: code that nobody wrote to heartbeat may block its event loop."""

_HEARTBEATS: Final = Payload(metadata={"encoding": b"json/plain"}, data=b"true")


class TaskOutboundInterceptor(WorkflowOutboundInterceptor):
    """Checks the arguments of activities, child workflows and signals, and stops them at a cancel.

    Those of child workflows, too, while the task waits for these: they are told by a header.
    """

    def __init__(self, next: WorkflowOutboundInterceptor) -> None:
        super().__init__(next)
        self._under_way: dict[asyncio.Task[Any], bool] = {}  # whether a cancel stops it
        self._below_a_task = False

    async def below_a_task(self, headers: Mapping[str, Payload], code: Awaitable[Any]) -> Any:
        """Run a workflow that is no task; the child of one ends when what it calls has stopped."""
        self._below_a_task = wire.CHILD_HEADER in headers
        try:
            return await code
        except BaseException as failure:
            if is_cancelled_exception(failure):
                await self.stop()
            raise

    @property
    def under_way(self) -> bool:
        """True while an activity or child workflow is at work, which may publish."""
        return bool(self._under_way)

    async def stop(self) -> None:
        """Stop what the author's code has called, and wait until it has stopped."""
        calls = [each for each, stops in self._under_way.items() if stops]
        for each in calls:
            each.cancel()
        for each in calls:
            await asyncio.wait([each])
            if not each.cancelled():
                each.exception()

    def continue_as_new(self, input: ContinueAsNewInput) -> NoReturn:
        """Have the next run of a child know what it is."""
        if self._below_a_task:
            input.headers = {**input.headers, **_BELOW_A_TASK}
        super().continue_as_new(input)

    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:
        """Start an activity if its arguments can leave with this workflow task."""
        _check(input.args, f"The input of activity {input.activity!r}")
        return self._noted(input, super().start_activity)

    def start_local_activity(self, input: StartLocalActivityInput) -> workflow.ActivityHandle[Any]:
        """Start a local activity, whose arguments stay with the worker."""
        return self._noted(input, super().start_local_activity)

    async def start_child_workflow(
        self, input: StartChildWorkflowInput
    ) -> workflow.ChildWorkflowHandle[Any, Any]:
        """Start a child workflow if its arguments can leave with this workflow task."""
        own = input.workflow == wire.PUSH_WORKFLOW
        _check(input.args, f"The input of child workflow {input.workflow!r}", own=own)
        _note(own=own)
        waits = self._stops and not own and input.cancellation_type == _CHILD_WAITS
        if waits:
            input.headers = {**input.headers, **_BELOW_A_TASK}
        handle = await super().start_child_workflow(input)
        if not waits:
            return handle
        return self._until_over(handle, None, "id", "first_execution_run_id", "signal")

    async def signal_child_workflow(self, input: SignalChildWorkflowInput) -> None:
        """Signal a child workflow if the arguments can leave with this workflow task."""
        _check(input.args, f"The input of signal {input.signal!r}")
        _note()
        await super().signal_child_workflow(input)

    async def signal_external_workflow(self, input: SignalExternalWorkflowInput) -> None:
        """Signal another workflow if the arguments can leave with this workflow task."""
        own = input.signal == wire.PUSH_NOTIFY_SIGNAL
        _check(input.args, f"The input of signal {input.signal!r}", own=own)
        _note(own=own)
        await super().signal_external_workflow(input)

    @property
    def _stops(self) -> bool:
        return self._below_a_task or bound(TaskControl) is not None

    def _noted(
        self,
        input: _StartInput,
        start: Callable[[_StartInput], workflow.ActivityHandle[Any]],
    ) -> workflow.ActivityHandle[Any]:
        """Start an activity; below a task, a cancel lets go only once it has stopped."""
        if not self._stops:
            return start(input)
        control = bound(TaskControl)
        if control is not None:
            control.check_asked()
        waits = _waits_for_cancel(input)
        handle = start(input)
        if waits:
            handle = self._until_over(handle, _longest_wait(input))
        else:
            self._register(handle, stops=False)
        if control is not None:
            control.note_act(handle)
        return handle

    def _until_over(self, handle: _Handle, longest: timedelta | None, *attributes: str) -> _Handle:
        """Return a handle with the same members whose cancel waits until what runs is over."""
        over = asyncio.create_task(_until_over(handle, longest))
        for name in attributes:
            setattr(over, name, getattr(handle, name))
        self._register(over, stops=True)
        return cast("_Handle", over)

    def _register(self, handle: "asyncio.Task[Any]", *, stops: bool) -> None:
        self._under_way[handle] = stops
        handle.add_done_callback(lambda done: self._under_way.pop(done, None))


def _check(values: Sequence[Any], what: str, *, own: bool = False) -> None:
    """Check a call, or only count it where the library itself makes it: that is small."""
    control = bound(TaskControl)
    if control is None or not values:
        return
    payloads = workflow.payload_converter().to_payloads(values)
    try:
        control.log.budget.call([len(payload.data) for payload in payloads], what)
    except PublicError:
        if not own:
            raise


def _note(*, own: bool = False) -> None:
    control = bound(TaskControl)
    if control is not None and not own:
        control.check_asked()
        control.note_act()


def _waits_for_cancel(input: StartActivityInput | StartLocalActivityInput) -> bool:
    """Have an activity's cancel wait until it is over; False where its author said otherwise.

    One on the workflow's own queue, whose author gave it no heartbeat timeout, is to heartbeat.
    """
    if input.activity in _OF_AN_AGENT or input.cancellation_type != _TRY:
        return False
    input.cancellation_type = _WAIT
    if isinstance(input, StartLocalActivityInput):
        return True
    own_queue = input.task_queue in (None, workflow.info().task_queue)
    if own_queue and input.heartbeat_timeout is None:
        input.heartbeat_timeout = _HEARTBEAT_TIMEOUT
        input.headers = {**input.headers, wire.HEARTBEATS_HEADER: _HEARTBEATS}
    return True


def _longest_wait(input: StartActivityInput | StartLocalActivityInput) -> timedelta | None:
    """Return how long a cancel waits for an activity; None for as long as it takes.

    Without a heartbeat timeout nothing says that it can hear of the cancel, or that its worker is
    lost.
    """
    if isinstance(input, StartLocalActivityInput) or input.heartbeat_timeout is not None:
        return None
    return agent_options().cancel_timeout


async def _until_over(handle: "asyncio.Task[Any]", longest: timedelta | None) -> Any:
    """Wait for an activity; a cancel is let through once it has stopped.

    What it returns in spite of the cancel is dropped: the code that waits for it is to end.
    """
    canceled = False
    while not handle.done():
        try:
            if not canceled or longest is None:
                await asyncio.wait([handle])
                continue
            with contextlib.suppress(asyncio.TimeoutError):
                await workflow.wait_condition(handle.done, timeout=longest)
            break
        except asyncio.CancelledError:
            canceled = True
            handle.cancel()
    if not canceled:
        return handle.result()
    if handle.done() and not handle.cancelled():
        failure = handle.exception()
        if failure is not None and is_cancelled_exception(failure):
            raise failure
    raise asyncio.CancelledError
