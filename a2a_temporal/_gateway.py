"""The calls to Temporal, and the meaning of its errors.

This is the one place that calls Temporal for a task. Each call is bounded by one time-out and is
made again when its connection was closed under it. Whatever goes wrong is raised as temporalio's
``RPCError``; A2A errors are made of it in the server half.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, TypeVar

from temporalio.api.common.v1 import Payloads, WorkflowExecution
from temporalio.api.enums.v1 import ResourceExhaustedCause, WorkflowExecutionStatus
from temporalio.api.errordetails.v1 import ResourceExhaustedFailure
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import (
    CountWorkflowExecutionsRequest,
    DescribeWorkflowExecutionRequest,
    DescribeWorkflowExecutionResponse,
    GetWorkflowExecutionHistoryRequest,
    GetWorkflowExecutionHistoryResponse,
    GetWorkflowExecutionHistoryReverseRequest,
    GetWorkflowExecutionHistoryReverseResponse,
    ListWorkflowExecutionsRequest,
    ListWorkflowExecutionsResponse,
    SignalWorkflowExecutionRequest,
)
from temporalio.client import Client
from temporalio.common import TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.converter import DataConverter, WorkflowSerializationContext
from temporalio.service import RPCError, RPCStatusCode

_T = TypeVar("_T")

CALL_TIMEOUT: Final = timedelta(seconds=5)
"""Bound of one call to Temporal, its retries included, unless the gateway has another one."""

POLL_TIMEOUT: Final = timedelta(seconds=65)
"""Bound of a long poll; Temporal answers one after about a minute."""

OPEN: Final = "CloseTime IS NULL"
"""The condition of open workflows, paused ones included; older servers know no status 'Paused'."""

OPEN_STATUSES: Final = (
    WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING,
    WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_PAUSED,
)

_CONNECTIONS = 4  # on which a call is made at most
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 1.0

_RETRYABLE = frozenset(
    {
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.CANCELLED,
        RPCStatusCode.RESOURCE_EXHAUSTED,
        RPCStatusCode.ABORTED,
        RPCStatusCode.INTERNAL,
        RPCStatusCode.UNKNOWN,
    }
)

# All that the client's own retries try again, but RESOURCE_EXHAUSTED, which they wait too long for.
_RETRIED_BY_CLIENT = (
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.INTERNAL,
    RPCStatusCode.UNKNOWN,
    RPCStatusCode.ABORTED,
    RPCStatusCode.DATA_LOSS,
    RPCStatusCode.OUT_OF_RANGE,
)


class Gateway:
    """Calls Temporal through one client; it holds nothing else and may be made for a single call.

    Every method raises ``temporalio.service.RPCError``: Temporal refused the call, could not be
    reached (UNAVAILABLE) or did not answer in time (see :func:`is_late`). A call that was closed or
    late may have been carried out, so only calls that may be made twice are here.

    Args:
        client: Connected (or lazy) client.
        timeout: Bound of one call, its retries included; a long poll has ``POLL_TIMEOUT``.

    Attributes:
        client: The client.
        timeout: The bound.
    """

    def __init__(self, client: Client, *, timeout: timedelta = CALL_TIMEOUT) -> None:
        self.client: Client = client
        self.timeout: timedelta = timeout

    # ------------------------------------------------------------- workflows

    async def start(
        self,
        workflow: str,
        args: Sequence[Any],
        *,
        workflow_id: str,
        task_queue: str,
        reuse: WorkflowIDReusePolicy = WorkflowIDReusePolicy.REJECT_DUPLICATE,
        memo: Mapping[str, Any] | None = None,
        search_attributes: TypedSearchAttributes | None = None,
        summary: str | None = None,
        signal: str | None = None,
        signal_args: Sequence[Any] = (),
    ) -> None:
        """Start a workflow, or signal the open one of this id if a signal is given.

        Raises:
            temporalio.exceptions.WorkflowAlreadyStartedError: There is one that ``reuse`` keeps.
        """
        await self._bounded(
            lambda: self.client.start_workflow(
                workflow,
                args=args,
                id=workflow_id,
                task_queue=task_queue,
                id_reuse_policy=reuse,
                memo=memo,
                search_attributes=search_attributes,
                static_summary=summary,
                start_signal=signal,
                start_signal_args=signal_args,
                rpc_timeout=self.timeout,
            )
        )

    async def signal(
        self, workflow_id: str, name: str, args: Sequence[Any] = (), *, run_id: str | None = None
    ) -> None:
        """Signal a workflow; durable once this returns."""
        workflow = self.client.get_workflow_handle(workflow_id, run_id=run_id)
        await self._bounded(lambda: workflow.signal(name, args=args, rpc_timeout=self.timeout))

    async def signal_once(
        self,
        workflow_id: str,
        name: str,
        args: Sequence[Any],
        *,
        headers: Mapping[str, Any],
        request_id: str,
    ) -> None:
        """Signal with headers; of one request id, Temporal takes one signal a run."""
        converter = converter_of(self.client, workflow_id)
        request = SignalWorkflowExecutionRequest(
            namespace=self.client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=workflow_id),
            signal_name=name,
            input=Payloads(payloads=await converter.encode(args)),
            identity=self.client.identity,
            request_id=request_id,
        )
        for header, value in headers.items():
            request.header.fields[header].CopyFrom((await converter.encode([value]))[0])
        await self.call(self.client.workflow_service.signal_workflow_execution, request)

    async def cancel(self, workflow_id: str) -> None:
        """Ask a workflow to cancel; durable once this returns."""
        workflow = self.client.get_workflow_handle(workflow_id)
        await self._bounded(lambda: workflow.cancel(rpc_timeout=self.timeout))

    async def describe(
        self, workflow_id: str, run_id: str = ""
    ) -> DescribeWorkflowExecutionResponse:
        """Describe a run of a workflow, the newest unless it is named.

        The SDK's ``describe()`` raises ``ValueError`` for a paused workflow.
        """
        request = DescribeWorkflowExecutionRequest(
            namespace=self.client.namespace,
            execution=WorkflowExecution(workflow_id=workflow_id, run_id=run_id),
        )
        return await self.call(self.client.workflow_service.describe_workflow_execution, request)

    async def complete_activity(self, task_token: bytes, result: object) -> None:
        """Complete an activity that has ended by ``activity.raise_complete_async``.

        Raises:
            temporalio.client.AsyncActivityCancelledError: It is to cancel instead.
        """
        running = self.client.get_async_activity_handle(task_token=task_token)
        await self._bounded(lambda: running.complete(result, rpc_timeout=self.timeout))

    # ------------------------------------------------------------- histories

    async def history_page(
        self, workflow_id: str, run_id: str = "", *, size: int = 0, token: bytes = b""
    ) -> GetWorkflowExecutionHistoryResponse:
        """Return a page of the history that a run has now, the oldest events first.

        Args:
            workflow_id: The workflow.
            run_id: One run; the newest by default.
            size: How many batches of events are asked for; as many as Temporal likes by default.
            token: The ``next_page_token`` of the page before.
        """
        request = self._history_request(workflow_id, run_id, size, token)
        read = self.client.workflow_service.get_workflow_execution_history
        return await self.call(read, request)

    async def newest_history_page(
        self, workflow_id: str, run_id: str = "", *, size: int = 0, token: bytes = b""
    ) -> GetWorkflowExecutionHistoryReverseResponse:
        """Return a page of the history that a run has now, the newest events first."""
        request = GetWorkflowExecutionHistoryReverseRequest(
            namespace=self.client.namespace,
            execution=WorkflowExecution(workflow_id=workflow_id, run_id=run_id),
            maximum_page_size=size,
            next_page_token=token,
        )
        read = self.client.workflow_service.get_workflow_execution_history_reverse
        return await self.call(read, request)

    async def poll_history(
        self,
        workflow_id: str,
        run_id: str = "",
        *,
        size: int = 0,
        token: bytes = b"",
        timeout: timedelta = POLL_TIMEOUT,
    ) -> GetWorkflowExecutionHistoryResponse:
        """Return the next page of a history; waits for one while the run is open (a long poll).

        The first page does not wait; it may be empty, and has the token to poll on with.

        Raises:
            temporalio.service.RPCError: As everywhere; nothing is retried but a closed connection.
        """
        request = self._history_request(workflow_id, run_id, size, token)
        request.wait_new_event = True
        read = self.client.workflow_service.get_workflow_execution_history
        return await self.call(read, request, retry=False, timeout=timeout)

    def _history_request(
        self, workflow_id: str, run_id: str, size: int, token: bytes
    ) -> GetWorkflowExecutionHistoryRequest:
        return GetWorkflowExecutionHistoryRequest(
            namespace=self.client.namespace,
            execution=WorkflowExecution(workflow_id=workflow_id, run_id=run_id),
            maximum_page_size=size,
            next_page_token=token,
        )

    # ------------------------------------------------------------ visibility

    async def count(self, query: str) -> int:
        """Count the workflow executions that a visibility query finds."""
        request = CountWorkflowExecutionsRequest(namespace=self.client.namespace, query=query)
        count = self.client.workflow_service.count_workflow_executions
        return (await self._granted(count, request)).count

    async def list_page(
        self, query: str, *, size: int = 0, token: bytes = b""
    ) -> ListWorkflowExecutionsResponse:
        """Return a page of the workflow executions that a visibility query finds.

        The SDK's ``list_workflows()`` raises ``ValueError`` when one of them is paused.
        """
        request = ListWorkflowExecutionsRequest(
            namespace=self.client.namespace, query=query, page_size=size, next_page_token=token
        )
        return await self._granted(self.client.workflow_service.list_workflow_executions, request)

    async def executions(self, query: str) -> AsyncIterator[WorkflowExecutionInfo]:
        """Yield all workflow executions that a visibility query finds."""
        token = b""
        while True:
            page = await self.list_page(query, token=token)
            for execution in page.executions:
                yield execution
            token = page.next_page_token
            if not token:
                return

    async def _granted(self, rpc: Callable[..., Awaitable[_T]], request: Any) -> _T:
        """Ask visibility, as often as it takes until the namespace has a call to spare.

        Temporal grants ten a second, if nobody raises that. The client's own retries wait for a
        second and longer for one, and use up the time of the call.
        """

        async def granted() -> _T:
            pause, retry = _SHORTEST_PAUSE, False
            while True:
                try:
                    return await rpc(request, retry=retry, timeout=self.timeout)
                except RPCError as error:
                    if error.status == RPCStatusCode.RESOURCE_EXHAUSTED:
                        await asyncio.sleep(pause * random.uniform(0.5, 1))
                        pause = min(2 * pause, _LONGEST_PAUSE)
                    elif retry or error.status not in _RETRIED_BY_CLIENT:
                        raise
                    else:
                        retry = True

        return await self._bounded(granted)

    # ------------------------------------------------------------- any call

    async def call(
        self,
        rpc: Callable[..., Awaitable[_T]],
        request: Any,
        *,
        retry: bool = True,
        timeout: timedelta | None = None,
    ) -> _T:
        """Make a call of one of the client's services that may be made twice.

        Args:
            rpc: A method of ``client.workflow_service`` or ``client.operator_service``.
            request: Its request.
            retry: Whether the client's own retries apply.
            timeout: Bound of this call; the gateway's by default.
        """
        limit = timeout or self.timeout
        return await self._bounded(lambda: rpc(request, retry=retry, timeout=limit), limit)

    async def _bounded(
        self, call: Callable[[], Awaitable[_T]], timeout: timedelta | None = None
    ) -> _T:
        # A client that has yet to connect heeds no time-out of a call, nor do its retries.
        try:
            return await with_deadline(timeout or self.timeout, _reconnecting(call))
        except asyncio.TimeoutError as error:
            raise _failed(RPCStatusCode.DEADLINE_EXCEEDED, "no answer in time") from error
        except RuntimeError as error:  # of a lazy client that cannot connect
            raise _failed(RPCStatusCode.UNAVAILABLE, str(error)) from error


async def _reconnecting(call: Callable[[], Awaitable[_T]]) -> _T:
    """Make a call, and make it again when its connection was closed under it.

    A frontend of Temporal closes every connection after a few minutes
    (``keepAliveMaxConnectionAge``), and load balancers do the same. A call that meets the close
    fails with CANCELLED, which Temporal's own retries do not know.
    """
    for _ in range(_CONNECTIONS - 1):
        try:
            return await call()
        except RPCError as error:
            if not _met_a_close(error):
                raise
    return await call()


def _met_a_close(error: RPCError) -> bool:
    # A timeout is CANCELLED as well, with another text.
    return error.status == RPCStatusCode.CANCELLED and "operation was canceled" in error.message


def _failed(status: RPCStatusCode, text: str) -> RPCError:
    return RPCError(text, status, b"")


async def with_deadline(limit: timedelta, call: Awaitable[_T]) -> _T:
    """Await ``call`` for at most ``limit``; it has stopped when this returns.

    Raises:
        asyncio.TimeoutError: The limit passed.
    """
    # Before Python 3.12, asyncio.wait_for() forgets a cancel that comes together with the result:
    # a stream or a blocking send would go on for a client who has left.
    calling = asyncio.ensure_future(call)
    try:
        ended, _ = await asyncio.wait([calling], timeout=limit.total_seconds())
    finally:
        await _stop(calling)
    if not ended and calling.cancelled():
        raise asyncio.TimeoutError
    return calling.result()


async def _stop(calling: "asyncio.Future[Any]") -> None:
    if not calling.done():
        calling.cancel()
        await asyncio.wait([calling])
    if not calling.cancelled():
        calling.exception()  # retrieved, or asyncio would log it


def converter_of(client: Client, workflow_id: str) -> DataConverter:
    """Return the converter for the payloads of one workflow, whose codec may be bound to it."""
    return client.data_converter.with_context(
        WorkflowSerializationContext(namespace=client.namespace, workflow_id=workflow_id)
    )


# Temporal's codes are ambiguous: NOT_FOUND is an unknown workflow, a closed one or a missing
# namespace; timeouts arrive as CANCELLED.


def is_missing_workflow(error: RPCError) -> bool:
    """True when the workflow does not exist (or no longer); False for a missing namespace."""
    # The text may quote the id that was asked for, so only its beginning tells.
    of_namespace = error.message.lower().startswith("namespace")
    return error.status == RPCStatusCode.NOT_FOUND and not of_namespace


def is_closed_workflow(error: RPCError) -> bool:
    """True when a signal or cancel came too late: the workflow exists but has ended."""
    return is_missing_workflow(error) and "already completed" in error.message


def is_outgrown_workflow(error: RPCError) -> bool:
    """True when the history has reached a limit: Temporal takes nothing more, and terminates it."""
    text = error.message.lower()
    return error.status == RPCStatusCode.INVALID_ARGUMENT and "history" in text and "limit" in text


def is_out_of_polls(error: Exception) -> bool:
    """True when the namespace has no long poll to spare; other calls still succeed."""
    if not isinstance(error, RPCError) or error.status != RPCStatusCode.RESOURCE_EXHAUSTED:
        return False
    exhausted = ResourceExhaustedFailure()
    return any(
        detail.Unpack(exhausted)
        and exhausted.cause == ResourceExhaustedCause.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT
        for detail in error.grpc_status.details
    )


def lacks_attributes(error: RPCError) -> bool:
    """True when visibility does not know the search attributes of tasks."""
    if error.status != RPCStatusCode.INVALID_ARGUMENT:
        return False
    return "search attribute" in error.message or "no mapping defined" in error.message


def is_retryable(error: RPCError) -> bool:
    """True when the same call may succeed later."""
    return error.status in _RETRYABLE


def is_late(error: BaseException | None) -> bool:
    """True when something took longer than it may."""
    if isinstance(error, RPCError):
        return error.status in (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)
    return isinstance(error, (TimeoutError, asyncio.TimeoutError))
