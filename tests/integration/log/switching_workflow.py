"""A workflow of an author's own that goes on in a new run when it is told to."""

from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.worker import (
    Interceptor,
    StartChildWorkflowInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

with workflow.unsafe.imports_passed_through():
    from a2a_temporal.workflow import TaskRun, TaskStart

LATER = timedelta(seconds=1.5)


@workflow.defn(sandboxed=False)
class Repeating:
    """Repeats what it is told; ``switch`` begins a new run, ``end`` ends the task."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Repeat until the end."""
        async for message in self.task.messages():
            text = message.parts[0].text
            if text == "switch":
                self.task.continue_as_new()
            if text == "end":
                return
            self.task.add_artifact(text)


class _SlowChildren(WorkflowOutboundInterceptor):
    async def start_child_workflow(
        self, input: StartChildWorkflowInput
    ) -> workflow.ChildWorkflowHandle[Any, Any]:
        await workflow.sleep(LATER)
        return await super().start_child_workflow(input)


class _Inbound(WorkflowInboundInterceptor):
    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(_SlowChildren(outbound))


class SlowChildren(Interceptor):
    """Has every child workflow start later than it was asked for, as on a busy server."""

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        """Return what delays the start of children."""
        return _Inbound
