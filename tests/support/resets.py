"""Reset a workflow, or an activity of it, as an operator does."""

import uuid

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, PendingActivityState, ResetReapplyExcludeType
from temporalio.api.workflowservice.v1 import ResetActivityRequest, ResetWorkflowExecutionRequest
from temporalio.client import Client

from tests.support.waiting import eventually


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
    workflow = client.get_workflow_handle(task_id)

    async def waiting() -> str:
        pending = (await workflow.describe()).raw_description.pending_activities
        between = PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
        waits = pending and pending[0].state == between
        return pending[0].activity_id if waits and pending[0].attempt == attempt else ""

    activity_id = await eventually(waiting, within=20, what=f"the pause before attempt {attempt}")
    await client.workflow_service.reset_activity(
        ResetActivityRequest(
            namespace=client.namespace,
            execution=WorkflowExecution(workflow_id=task_id),
            id=activity_id,
        )
    )
