"""Replay what has run: workflow code that does not decide the same again is not deterministic."""

from collections.abc import AsyncIterator

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer


async def replay_all(replayer: Replayer, client: Client, task_queue: str) -> dict[str, Exception]:
    """Replay every workflow of a task queue that visibility knows.

    Returns:
        Run id → failure, of those that failed.
    """
    found = client.list_workflows(f"TaskQueue = '{task_queue}'")
    begun = _begun(found.map_histories())
    results = await replayer.replay_workflows(begun, raise_on_replay_failure=False)
    return dict(results.replay_failures)


async def _begun(histories: AsyncIterator[WorkflowHistory]) -> AsyncIterator[WorkflowHistory]:
    """Leave out workflows that no worker has met: Temporal's replayer waits for ever for these."""
    completed = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    async for history in histories:
        if any(event.event_type == completed for event in history.events):
            yield history
