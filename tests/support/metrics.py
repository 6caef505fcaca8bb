"""What the Temporal server itself counts."""

import re
import uuid

import httpx
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryRequest
from temporalio.client import Client
from temporalio.service import RPCError

from tests.support.temporal_server import TemporalServer

_POLLS = re.compile(
    r'^service_pending_requests\{.*operation="PollWorkflowExecutionHistory".*'
    r'service_name="frontend"\} (\d+)',
    re.MULTILINE,
)


async def pending_history_polls(server: TemporalServer) -> int:
    """How many history long polls waited at the server when the latest one began."""
    found = re.search(r"http://localhost:(\d+)/metrics", server.process.output())
    assert found, server.process.tail()
    async with httpx.AsyncClient(trust_env=False) as http:
        response = await http.get(f"http://127.0.0.1:{found.group(1)}/metrics")
    pending = _POLLS.search(response.text)
    return int(pending.group(1)) if pending else 0


async def held_history_polls(server: TemporalServer, client: Client) -> int:
    """How many history long polls wait at the server now, also after some have ended.

    The server counts when a poll begins, so one of a workflow that is not there begins.
    """
    request = GetWorkflowExecutionHistoryRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=str(uuid.uuid4())),
        wait_new_event=True,
    )
    try:
        await client.workflow_service.get_workflow_execution_history(request)
    except RPCError:
        return await pending_history_polls(server) - 1
    raise AssertionError("a workflow that nobody has started has a history")
