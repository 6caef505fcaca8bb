"""What Temporal says of workflow executions, in its own words.

The SDK's `describe()` and `list_workflows()` do not know that a workflow can be paused: they raise
`ValueError`, a list for all its workflows.
"""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    DescribeWorkflowExecutionResponse,
    ListWorkflowExecutionsRequest,
)
from temporalio.client import Client

from a2a_temporal._reconnecting import reconnecting

OPEN: Final = "CloseTime IS NULL"
"""The condition of open workflows, paused ones included; older servers know no status 'Paused'."""

OPEN_STATUSES: Final = (
    WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING,
    WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_PAUSED,
)

_RPC_TIMEOUT = timedelta(seconds=10)


async def described(
    client: Client, workflow_id: str, *, run_id: str = "", timeout: timedelta = _RPC_TIMEOUT
) -> DescribeWorkflowExecutionResponse:
    """Describe a run of a workflow, the latest unless it is named.

    Raises:
        temporalio.service.RPCError: There is none, or Temporal did not answer.
    """
    request = DescribeWorkflowExecutionRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=workflow_id, run_id=run_id),
    )
    describe = client.workflow_service.describe_workflow_execution
    return await reconnecting(lambda: describe(request, retry=True, timeout=timeout))


async def listed(client: Client, query: str) -> AsyncIterator[WorkflowExecutionInfo]:
    """Yield the workflow executions that a visibility query finds.

    Raises:
        temporalio.service.RPCError: Temporal did not answer, or does not understand the query.
    """
    request = ListWorkflowExecutionsRequest(namespace=client.namespace, query=query)
    read = client.workflow_service.list_workflow_executions
    while True:
        page = await reconnecting(lambda: read(request, retry=True, timeout=_RPC_TIMEOUT))
        for execution in page.executions:
            yield execution
        if not page.next_page_token:
            return
        request.next_page_token = page.next_page_token
