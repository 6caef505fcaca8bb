"""What an operator sees of the activity of a turn, and does to it."""

from typing import Any

from temporalio.api.enums.v1 import EventType, PendingActivityState
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


async def activity_in_back_off(client: Client, task_id: str, *, attempt: int) -> str:
    """Wait until an activity waits for an attempt of a number; returns its id."""
    workflow = client.get_workflow_handle(task_id)
    between = PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED

    async def waiting() -> str:
        pending = (await workflow.describe()).raw_description.pending_activities
        waits = pending and (pending[0].state, pending[0].attempt) == (between, attempt)
        return pending[0].activity_id if waits else ""

    return await eventually(waiting, within=20, what=f"the pause before attempt {attempt}")


async def turn_over(client: Client, task_id: str) -> None:
    """Wait until the workflow has taken in that the activity of its only turn has completed."""
    completed = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
    workflow = client.get_workflow_handle(task_id)

    async def taken_in() -> bool:
        types = [event.event_type for event in (await workflow.fetch_history()).events]
        after = types[types.index(completed) :] if completed in types else []
        return EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED in after

    await eventually(taken_in, within=20, what="the end of the turn")
