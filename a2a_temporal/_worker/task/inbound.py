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

from a2a.types.a2a_pb2 import Part, TaskState
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
from a2a_temporal._worker.task.outbound import TaskOutboundInterceptor
from a2a_temporal._worker.task.task_run import TaskRun, current_run, in_handler

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
        run = current_run()
        if run is None:
            return await self._calls.below_a_task(input.headers, super().execute_workflow(input))
        code = asyncio.create_task(_contained(super().execute_workflow(input)))
        try:
            await workflow.wait_condition(lambda: code.done() or run.failure is not None)
        except asyncio.CancelledError:
            code.cancel()
            await asyncio.wait([code])
        if run.failure is not None and not code.done():
            code.cancel()
            await asyncio.wait([code])
            return await _fail(run, run.failure)
        return await _end(run, code, self._calls)

    async def handle_signal(self, input: HandleSignalInput) -> None:
        """Run a signal handler; what it raises fails the task, not the workflow task.

        One of the author's that comes while an agent or an activity may publish begins once the
        log holds whatever came in the same workflow task: what the handler emits stands behind all
        of that in the history.
        """
        in_handler()
        try:
            if input.signal not in wire.TASK_SIGNALS:
                await _log_first()
            await super().handle_signal(input)
        except Exception as failure:
            if not _report(failure):
                raise

    async def handle_update_handler(self, input: HandleUpdateInput) -> Any:
        """Run an update handler; what it raises fails the update, not the workflow task.

        It begins behind the signal handlers that came before it and wait for the log. A validator
        cannot wait: while others may publish, it does not see yet what signals of the same workflow
        task do.
        """
        in_handler()
        run = current_run()
        try:
            if run is not None and run.held_signals:
                await asyncio.sleep(0)
            return await super().handle_update_handler(input)
        except FailureError:
            raise
        except Exception as failure:
            raise ApplicationError(
                f"{type(failure).__name__}: {text_of(failure)}", type=type(failure).__name__
            ) from tellable(failure)


async def _log_first() -> None:
    run = current_run()
    if run is None or not run.others_publish:
        return
    run.held_signals += 1
    try:
        await asyncio.sleep(0)
    finally:
        run.held_signals -= 1


def _report(failure: Exception) -> bool:
    run = current_run()
    if run is None or isinstance(failure, _OF_THIS_WORKER):
        return False
    run.failure = failure
    return True


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


async def _end(run: TaskRun, code: "asyncio.Task[Any]", calls: TaskOutboundInterceptor) -> Any:
    canceled = workflow.cancellation_reason() is not None
    if code.cancelled():
        if canceled:
            return await _cancel(run, calls)
        return await _fail(run, asyncio.CancelledError("The workflow canceled itself"))
    failure = code.exception()
    if failure is None:
        forgotten = run.failure or run.forgotten
        return await (_fail(run, forgotten) if forgotten else _finish(run, code.result()))
    failure = _ungrouped(failure)
    if isinstance(failure, workflow.ContinueAsNewError) and run.hands_on:
        return await _switch(run, calls)
    if isinstance(failure, workflow.NondeterminismError) or _is_of_the_engine(failure):
        raise failure
    if is_cancelled_exception(failure) and canceled:
        return await _cancel(run, calls)
    return await _fail(run, failure)


def _ungrouped(failure: BaseException) -> BaseException:
    """Return what counts of that which has ended an ``asyncio.TaskGroup``, else the failure itself.

    A group cancels its other tasks once one has failed, so what those raise then says nothing.
    """
    leaves = _leaves(failure)
    if leaves == [failure]:
        return failure
    failed = [each for each in leaves if not is_cancelled_exception(each)]
    own = [each for each in failed if not _is_of_the_engine(each)]
    return [*own, *failed, *leaves][0]


def _leaves(failure: BaseException) -> list[BaseException]:
    if sys.version_info >= (3, 11) and isinstance(failure, builtins.BaseExceptionGroup):
        return [leaf for each in failure.exceptions for leaf in _leaves(each)]
    return [failure]


def _is_of_the_engine(failure: BaseException) -> bool:
    """Say whether the SDK itself ends the code: a new run takes over, a deadlock, an eviction."""
    return not isinstance(failure, Exception) and type(failure).__module__.startswith("temporalio")


async def _switch(run: TaskRun, calls: TaskOutboundInterceptor) -> None:
    try:
        await run.switch()
    except asyncio.CancelledError:
        await _cancel(run, calls)
    except Exception as failure:  # what has come meanwhile does not fit, or may not be dropped
        await _fail(run, failure)


async def _cancel(run: TaskRun, calls: TaskOutboundInterceptor) -> None:
    if not run.ended and run.agent_works:
        await run.stop_agent()
    await run.clean_up_agent()
    await calls.stop()
    if not run.ended:
        await run.budget.room_for(_STATUS_BYTES)
        run.cancel()
    raise asyncio.CancelledError


async def _fail(run: TaskRun, failure: BaseException) -> None:
    workflow.logger.error("The workflow of an A2A task raised %r", failure, exc_info=failure)
    if not run.ended:
        text = client_text(failure)
        await run.budget.room_for(_STATUS_BYTES, len(json.dumps(text)))
        run.fail(text)
    if run.task.status.state != TaskState.TASK_STATE_FAILED:
        return
    raise ApplicationError(
        "The A2A task failed", type=errors.TASK_FAILED, non_retryable=True
    ) from tellable(failure)


async def _finish(run: TaskRun, result: Any) -> Any:
    try:
        (payload,) = workflow.payload_converter().to_payloads([result])
        size = len(payload.data)
        shown = result is not None and not run.ended
        await run.budget.room_for(_STATUS_BYTES, size, size if shown else 0)
        if not run.ended:
            if shown:
                run.add_artifact(
                    _part(payload), name="result", artifact_id="result", last_chunk=True
                )
            run.complete()
        run.budget.check_payload(size, "The workflow's result")
    except Exception as failure:  # whatever the user's converter, and what it makes, raise
        return await _fail(run, failure)
    state = run.task.status.state
    if state == TaskState.TASK_STATE_CANCELED and workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError
    if state == TaskState.TASK_STATE_FAILED:
        raise ApplicationError("The A2A task failed", type=errors.TASK_FAILED, non_retryable=True)
    return result
