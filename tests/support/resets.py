"""Reset a workflow, or an activity of it, as an operator does."""

import uuid

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, ResetReapplyExcludeType
from temporalio.api.workflowservice.v1 import ResetActivityRequest, ResetWorkflowExecutionRequest
from temporalio.client import Client

from tests.support.turns import activity_in_back_off


async def reset_to_the_start(
    client: Client, task_id: str, run_id: str = "", *, without_signals: bool = False
) -> None:
    """Reset a run of a task, the newest by default, and keep the signals that came since."""
    excluded = [ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL]
    workflow = client.get_workflow_handle(task_id, run_id=run_id or None)
    first = next(
        event.event_id
        for event in (await workflow.fetch_history()).events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    )
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=task_id, run_id=run_id),
            reason="test",
            request_id=str(uuid.uuid4()),
            workflow_task_finish_event_id=first,
            reset_reapply_exclude_types=excluded if without_signals else [],
        )
    )


async def reset_activity_in_back_off(client: Client, task_id: str, *, attempt: int) -> None:
    """Have Temporal count an activity's attempts anew, while it waits for one of a number."""
    activity_id = await activity_in_back_off(client, task_id, attempt=attempt)
    await client.workflow_service.reset_activity(
        ResetActivityRequest(
            namespace=client.namespace,
            execution=WorkflowExecution(workflow_id=task_id),
            id=activity_id,
        )
    )
