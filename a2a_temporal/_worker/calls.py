"""Note what a workflow with a ``TaskRun`` calls, and refuse what Temporal would not take.

Temporal would refuse the whole workflow task, which is then tried again for ever, its task WORKING.
Here the author's own call raises, and says how large what was. What the library itself hands to its
delivery workflow always leaves: a request has room for it beyond what a step may hold.

A payload codec of the user's own may make payloads smaller than what is seen here: then nothing is
refused.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar, cast

from temporalio import workflow
from temporalio.worker import (
    SignalChildWorkflowInput,
    SignalExternalWorkflowInput,
    StartActivityInput,
    StartChildWorkflowInput,
    StartLocalActivityInput,
    WorkflowOutboundInterceptor,
)

from a2a_temporal._log import wire
from a2a_temporal._worker.task_activities import longest_wait, until_over, waits_for_cancel
from a2a_temporal._worker.task_run import current_run
from a2a_temporal.errors import PublicError

_StartInput = TypeVar("_StartInput", StartActivityInput, StartLocalActivityInput)
_Handle = TypeVar("_Handle", bound="asyncio.Task[Any]")

# What the SDK does where nothing else is said.
_CHILD_WAITS = workflow.ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED


class CheckedCalls(WorkflowOutboundInterceptor):
    """Checks the arguments of activities, child workflows and signals."""

    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:
        """Start an activity if its arguments can leave with this step."""
        _check(input.args, f"The input of activity {input.activity!r}")
        return _noted(input, super().start_activity)

    def start_local_activity(self, input: StartLocalActivityInput) -> workflow.ActivityHandle[Any]:
        """Start a local activity, whose arguments stay with the worker."""
        return _noted(input, super().start_local_activity)

    async def start_child_workflow(
        self, input: StartChildWorkflowInput
    ) -> workflow.ChildWorkflowHandle[Any, Any]:
        """Start a child workflow if its arguments can leave with this step."""
        own = input.workflow == wire.PUSH_WORKFLOW
        _check(input.args, f"The input of child workflow {input.workflow!r}", own=own)
        _note(own=own)
        handle = await super().start_child_workflow(input)
        if own or input.cancellation_type != _CHILD_WAITS:
            return handle
        return _until_over(handle, None, "id", "first_execution_run_id", "signal")

    async def signal_child_workflow(self, input: SignalChildWorkflowInput) -> None:
        """Signal a child workflow if the arguments can leave with this step."""
        _check(input.args, f"The input of signal {input.signal!r}")
        _note()
        await super().signal_child_workflow(input)

    async def signal_external_workflow(self, input: SignalExternalWorkflowInput) -> None:
        """Signal another workflow if the arguments can leave with this step."""
        own = input.signal == wire.PUSH_POKE_SIGNAL
        _check(input.args, f"The input of signal {input.signal!r}", own=own)
        _note(own=own)
        await super().signal_external_workflow(input)


def _check(values: Sequence[Any], what: str, *, own: bool = False) -> None:
    """Check a call, or only count it where the library itself makes it: that is small."""
    run = current_run()
    if run is None or not values:
        return
    payloads = workflow.payload_converter().to_payloads(values)
    try:
        run.step.call([len(payload.data) for payload in payloads], what)
    except PublicError:
        if not own:
            raise


def _note(*, own: bool = False) -> None:
    run = current_run()
    if run is not None and not own:
        run.note_act()


def _noted(
    input: _StartInput, start: Callable[[_StartInput], workflow.ActivityHandle[Any]]
) -> workflow.ActivityHandle[Any]:
    """Start an activity; of a task's workflow, a cancel lets go only once it has stopped."""
    run = current_run()
    if run is None:
        return start(input)
    waits = waits_for_cancel(input)
    handle = start(input)
    if waits:
        handle = _until_over(handle, longest_wait(input))
    run.note_act(handle)
    return handle


def _until_over(handle: _Handle, longest: timedelta | None, *attributes: str) -> _Handle:
    """Return a handle whose cancel waits until what was started is over, with the same members."""
    run = current_run()
    if run is None:
        return handle
    over = asyncio.create_task(until_over(handle, longest))
    for name in attributes:
        setattr(over, name, getattr(handle, name))
    run.note_call(over)
    return cast("_Handle", over)
