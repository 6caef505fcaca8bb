"""A call to visibility that fails for a moment is left to the client's own retries."""

from datetime import timedelta
from typing import Any

import pytest
from temporalio.api.workflowservice.v1 import CountWorkflowExecutionsResponse
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._server.task_index import TaskFilter, TaskIndex


async def _counted(monkeypatch: pytest.MonkeyPatch, status: RPCStatusCode) -> int:
    """Count the tasks at a server that answers with an error unless the client is to retry."""
    client = await Client.connect("127.0.0.1:9", lazy=True)

    async def count(*_: Any, retry: bool, **__: Any) -> CountWorkflowExecutionsResponse:
        if not retry:
            raise RPCError("not now", status, b"")
        return CountWorkflowExecutionsResponse(count=3)

    monkeypatch.setattr(client.workflow_service, "count_workflow_executions", count)
    index = TaskIndex(client, TaskFilter("agent", "", ""), timeout=timedelta(seconds=5))
    return await index.count(0, None)


@pytest.mark.parametrize(
    "status",
    [
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.INTERNAL,
        RPCStatusCode.UNKNOWN,
        RPCStatusCode.ABORTED,
        RPCStatusCode.DATA_LOSS,
        RPCStatusCode.OUT_OF_RANGE,
    ],
)
async def test_all_that_the_client_retries_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch, status: RPCStatusCode
) -> None:
    assert await _counted(monkeypatch, status) == 3


async def test_what_it_does_not_retry_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RPCError):
        await _counted(monkeypatch, RPCStatusCode.INVALID_ARGUMENT)
