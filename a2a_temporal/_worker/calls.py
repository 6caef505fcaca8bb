"""Note what a workflow with a ``TaskRun`` calls, and refuse what Temporal would not take.

Temporal would refuse the whole workflow task, which is then tried again for ever, its task WORKING.
Here the author's own call raises, and says how large what was. What the library itself hands to its
delivery workflow always leaves: a request has room for it beyond what a step may hold.

A payload codec of the user's own may make payloads smaller than what is seen here: then nothing is
refused.
"""

from collections.abc import Sequence
from typing import Any

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
from a2a_temporal._worker.task_run import current_run
from a2a_temporal.errors import PublicError


class CheckedCalls(WorkflowOutboundInterceptor):
    """Checks the arguments of activities, child workflows and signals."""

    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:
        """Start an activity if its arguments can leave with this step."""
        _check(input.args, f"The input of activity {input.activity!r}")
        return _noted(super().start_activity(input))

    def start_local_activity(self, input: StartLocalActivityInput) -> workflow.ActivityHandle[Any]:
        """Start a local activity, whose arguments stay with the worker."""
        return _noted(super().start_local_activity(input))

    async def start_child_workflow(
        self, input: StartChildWorkflowInput
    ) -> workflow.ChildWorkflowHandle[Any, Any]:
        """Start a child workflow if its arguments can leave with this step."""
        own = input.workflow == wire.PUSH_WORKFLOW
        _check(input.args, f"The input of child workflow {input.workflow!r}", own=own)
        _note(own=own)
        return await super().start_child_workflow(input)

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


def _noted(handle: workflow.ActivityHandle[Any]) -> workflow.ActivityHandle[Any]:
    run = current_run()
    if run is not None:
        run.note_act(handle)
    return handle
