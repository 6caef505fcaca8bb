"""An activity that publishes writes its part once, also when the workflow is reset."""

import uuid

from a2a.types import Task
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client

from a2a_temporal import Agent
from a2a_temporal.testing import RunningAgent, running_agent, state_of
from tests.integration.approvals.combined_flows import ReportsThenAsks, append
from tests.support.in_process import CARD
from tests.support.waiting import eventually, within

REPORTS = Agent(card=CARD, workflow=ReportsThenAsks, activities=[append])


async def test_a_report_is_written_anew_after_a_reset(skipping: Client) -> None:
    async with running_agent(skipping, REPORTS) as running:
        task = await running.send("go")
        await reset_to_the_start(skipping, task.id)
        await eventually(lambda: written(running, task), within=20, what="the second report")
        await eventually(lambda: running.requests(task), within=20, what="the request")
        done = await within(20, running.send("approve", task=task), what="the end")
        (report,) = done.artifacts
        assert (state_of(done), [part.text for part in report.parts]) == ("completed", ["0;", "1;"])


async def test_a_local_activity_is_told_that_it_cannot_publish(skipping: Client) -> None:
    async with running_agent(skipping, REPORTS) as running:
        task = await within(20, running.send("local"), what="the end")
        assert state_of(task) == "failed"


async def written(running: RunningAgent, task: Task) -> bool:
    """Say whether the present run of a task has let its activity write."""
    history = await running.workflow(task).fetch_history()
    kinds = {event.event_type for event in history.events}
    return EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED in kinds


async def reset_to_the_start(client: Client, task_id: str) -> None:
    """Reset a task's workflow as an operator does, who keeps its signals."""
    workflow = client.get_workflow_handle(task_id)
    first = next(
        event.event_id
        for event in (await workflow.fetch_history()).events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    )
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=task_id),
            reason="test",
            request_id=str(uuid.uuid4()),
            workflow_task_finish_event_id=first,
        )
    )
