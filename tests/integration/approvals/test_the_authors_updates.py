"""An update of the author's own stands behind the signals that came before it."""

import asyncio

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import UpdateWorkflowExecutionLifecycleStage
from temporalio.api.update.v1 import UpdateRef, WaitPolicy
from temporalio.api.workflowservice.v1 import PollWorkflowExecutionUpdateRequest
from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal.testing import running_agent
from tests.integration.approvals.agent_flows import agent_within
from tests.integration.approvals.beside_flows import CountsBesideAgent
from tests.support.waiting import eventually, within


@pytest.mark.parametrize("doing", ["say:busy gate", "ask:busy?"])
async def test_an_update_sees_the_signal_that_came_before_it(skipping: Client, doing: str) -> None:
    agent = agent_within(CountsBesideAgent)
    async with running_agent(skipping, agent, max_cached_workflows=0) as running:
        task = await running.send(doing, wait=False)
        await running.told(task, "busy")
        workflow = running.workflow(task)
        await running.stop_worker()
        await workflow.signal("add")
        counted = asyncio.create_task(workflow.execute_update("count", id="count"))
        await eventually(lambda: _admitted(skipping, task.id, "count"), within=20)
        await running.start_worker()
        assert await within(20, counted, what="the update") == 1
        await running.replay()


async def _admitted(client: Client, task_id: str, update_id: str) -> bool:
    reference = UpdateRef(
        workflow_execution=WorkflowExecution(workflow_id=task_id), update_id=update_id
    )
    stage = UpdateWorkflowExecutionLifecycleStage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ADMITTED
    try:
        await client.workflow_service.poll_workflow_execution_update(
            PollWorkflowExecutionUpdateRequest(
                namespace=client.namespace,
                update_ref=reference,
                wait_policy=WaitPolicy(lifecycle_stage=stage),
            )
        )
    except RPCError:
        return False
    return True
