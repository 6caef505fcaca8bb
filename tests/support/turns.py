"""What an operator does to the activity of a turn."""

from typing import Any

from temporalio.client import Client

from tests.support.waiting import eventually


async def complete_turn(client: Client, task_id: str, result: Any) -> None:
    """Complete the activity that runs, as `temporal activity complete` does."""
    workflow = client.get_workflow_handle(task_id)

    async def running() -> str:
        pending = (await workflow.describe()).raw_description.pending_activities
        return pending[0].activity_id if pending and pending[0].attempt else ""

    activity_id = await eventually(running, within=20, what="an activity of the turn")
    await client.get_async_activity_handle(
        workflow_id=task_id, run_id=None, activity_id=activity_id
    ).complete(result)
