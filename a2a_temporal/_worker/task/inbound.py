"""See to it that every workflow with a ``TaskRun`` ends its task, whatever its code does.

A plain exception in workflow code would fail the workflow task again and again and leave the A2A
task WORKING for ever. Here it becomes FAILED. Non-determinism after a deploy is not caught: it must
keep retrying, so that a rollback heals it.
"""

import asyncio
import builtins
import json
import sys
from collections.abc import Awaitable
from typing import Any

from a2a.types.a2a_pb2 import Artifact, Part, TaskArtifactUpdateEvent, TaskState
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception
from temporalio.worker import (
    ExecuteWorkflowInput,
    HandleSignalInput,
    HandleUpdateInput,
    WorkflowInboundInterceptor,
    WorkflowOutboundInterceptor,
)

from a2a_temporal import errors
from a2a_temporal._log import wire
from a2a_temporal._log.protojson import from_json, to_json
from a2a_temporal._reading.decode import LogUnreadableError
from a2a_temporal._worker.failures import client_text, tellable, text_of
from a2a_temporal._worker.instance import bound
from a2a_temporal._worker.task.control import TaskControl, in_handler
from a2a_temporal._worker.task.outbound import TaskOutboundInterceptor

_OF_THIS_WORKER = (workflow.NondeterminismError, LogUnreadableError)
"""What another deploy, or another worker, heals: it must keep failing the workflow task."""
_STATUS_BYTES = 1000
"""More than a status without a text takes."""


class TaskInboundInterceptor(WorkflowInboundInterceptor):
    """Wraps the workflows of a worker; those without a ``TaskRun`` are left as they are."""

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        """Have what the workflow hands to others checked."""
        self._calls = TaskOutboundInterceptor(outbound)
        super().init(self._calls)

    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        """Run the workflow's code and end its task."""
        control = bound(TaskControl)
        if control is None:
            return await self._calls.below_a_task(input.headers, super().execute_workflow(input))
        code = asyncio.create_task(_contained(super().execute_workflow(input)))
        try:
            await workflow.wait_condition(lambda: code.done() or control.failure is not None)
        except asyncio.CancelledError:
            code.cancel()
            await asyncio.wait([code])
        if control.failure is not None and not code.done():
            code.cancel()
            await asyncio.wait([code])
            return await _fail(control, control.failure)
        return await _end(control, code, self._calls)

    async def handle_signal(self, input: HandleSignalInput) -> None:
        """Run a signal handler; what it raises fails the task, not the workflow task.

        One of the author's that comes while an agent or an activity may publish begins once the
        log holds whatever came in the same workflow task: what the handler emits stands behind all
        of that in the history.
        """
        in_handler()
        try:
            if input.signal not in wire.TASK_SIGNALS:
                await self._log_first()
            await super().handle_signal(input)
        except Exception as failure:
            control = bound(TaskControl)
            if control is None or isinstance(failure, _OF_THIS_WORKER):
                raise
            control.failure = failure

    async def handle_update_handler(self, input: HandleUpdateInput) -> Any:
        """Run an update handler; what it raises fails the update, not the workflow task.

        It begins when a signal handler would. A validator cannot wait: while others may publish, it
        does not see yet what signals of the same workflow task do.
        """
        in_handler()
        try:
            await self._log_first()
            return await super().handle_update_handler(input)
        except FailureError:
            raise
        except Exception as failure:
            raise ApplicationError(
                f"{type(failure).__name__}: {text_of(failure)}", type=type(failure).__name__
            ) from tellable(failure)

    async def _log_first(self) -> None:
        """Let the log take what has come in this workflow task, if others than the code publish."""
        if self._calls.under_way:
            await asyncio.sleep(0)


async def _contained(code: Awaitable[Any]) -> Any:
    """Keep what would end a process inside the workflow."""
    try:
        return await code
    except (SystemExit, KeyboardInterrupt) as failure:
        raise RuntimeError(f"Workflow code raised {failure!r}") from failure


def _part(payload: Payload) -> Part:
    """Return a workflow's result as a reader of its history would see it."""
    result = json.loads(payload.data)
    if isinstance(result, str):
        return Part(text=result)
    part = from_json({"data": result}, Part())
    to_json(part)  # raises for what JSON cannot express
    return part


async def _end(
    control: TaskControl, code: "asyncio.Task[Any]", calls: TaskOutboundInterceptor
) -> Any:
    canceled = workflow.cancellation_reason() is not None
    if code.cancelled():
        if canceled:
            return await _cancel(control, calls)
        return await _fail(control, asyncio.CancelledError("The workflow canceled itself"))
    failure = code.exception()
    if failure is None:
        failure = control.failure or control.never_awaited
        return await (_fail(control, failure) if failure else _finish(control, code.result()))
    failure = _ungrouped(failure)
    if isinstance(failure, workflow.ContinueAsNewError) and control.next_run is not None:
        return await _continue_as_new(control, calls)
    if isinstance(failure, workflow.NondeterminismError) or _is_of_the_sdk(failure):
        raise failure
    if is_cancelled_exception(failure) and canceled:
        return await _cancel(control, calls)
    return await _fail(control, failure)


def _ungrouped(failure: BaseException) -> BaseException:
    """Return what counts of that which has ended an ``asyncio.TaskGroup``, else the failure itself.

    A group cancels its other tasks once one has failed, so what those raise then says nothing.
    """
    leaves = _leaves(failure)
    if leaves == [failure]:
        return failure
    failed = [each for each in leaves if not is_cancelled_exception(each)]
    own = [each for each in failed if not _is_of_the_sdk(each)]
    return [*own, *failed, *leaves][0]


def _leaves(failure: BaseException) -> list[BaseException]:
    if sys.version_info >= (3, 11) and isinstance(failure, builtins.BaseExceptionGroup):
        return [leaf for each in failure.exceptions for leaf in _leaves(each)]
    return [failure]


def _is_of_the_sdk(failure: BaseException) -> bool:
    """Say whether the SDK itself ends the code: a new run takes over, a deadlock, an eviction."""
    return not isinstance(failure, Exception) and type(failure).__module__.startswith("temporalio")


async def _continue_as_new(control: TaskControl, calls: TaskOutboundInterceptor) -> None:
    try:
        await control.switch()
    except asyncio.CancelledError:
        await _cancel(control, calls)
    except Exception as failure:  # what has come meanwhile does not fit, or may not be dropped
        await _fail(control, failure)


async def _cancel(control: TaskControl, calls: TaskOutboundInterceptor) -> None:
    await control.agent.stop()
    await calls.stop()
    if not control.log.state.terminal:
        await control.log.budget.room_for(_STATUS_BYTES)
        control.end(TaskState.TASK_STATE_CANCELED)
    raise asyncio.CancelledError


async def _fail(control: TaskControl, failure: BaseException) -> None:
    workflow.logger.error("The workflow of an A2A task raised %r", failure, exc_info=failure)
    log = control.log
    if not log.state.terminal:
        text = client_text(failure)
        await log.budget.room_for(_STATUS_BYTES, len(json.dumps(text)))
        control.end(TaskState.TASK_STATE_FAILED, text)
    if log.state.task.status.state == TaskState.TASK_STATE_FAILED:
        raise _failed() from tellable(failure)


async def _finish(control: TaskControl, result: Any) -> Any:
    log = control.log
    try:
        (payload,) = workflow.payload_converter().to_payloads([result])
        size = len(payload.data)
        shown = result is not None and not log.state.terminal
        await log.budget.room_for(_STATUS_BYTES, size, size if shown else 0)
        if not log.state.terminal:
            if shown:
                artifact = Artifact(artifact_id="result", name="result", parts=[_part(payload)])
                log.emit(TaskArtifactUpdateEvent(artifact=artifact, last_chunk=True))
            control.end(TaskState.TASK_STATE_COMPLETED)
        log.budget.check_payload(size, "The workflow's result")
    except Exception as failure:  # whatever the user's converter, and what it makes, raise
        return await _fail(control, failure)
    state = log.state.task.status.state
    if state == TaskState.TASK_STATE_CANCELED and workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError
    if state == TaskState.TASK_STATE_FAILED:
        raise _failed()
    return result


def _failed() -> ApplicationError:
    return ApplicationError("The A2A task failed", type=errors.TASK_FAILED, non_retryable=True)
