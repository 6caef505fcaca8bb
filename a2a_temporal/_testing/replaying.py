"""Replay what has run: workflow code that does not decide the same again is not deterministic."""

from collections.abc import AsyncIterator

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer

from a2a_temporal._gateway import Gateway


async def replay_all(replayer: Replayer, client: Client, task_queue: str) -> dict[str, Exception]:
    """Replay every workflow of a task queue that visibility knows.

    Returns:
        Run id → failure, of those that failed.
    """
    begun = _begun(_histories(client, task_queue))
    results = await replayer.replay_workflows(begun, raise_on_replay_failure=False)
    return dict(results.replay_failures)


async def _histories(client: Client, task_queue: str) -> AsyncIterator[WorkflowHistory]:
    async for found in Gateway(client).executions(f"TaskQueue = '{task_queue}'"):
        run = found.execution
        yield await client.get_workflow_handle(run.workflow_id, run_id=run.run_id).fetch_history()


async def _begun(histories: AsyncIterator[WorkflowHistory]) -> AsyncIterator[WorkflowHistory]:
    """Leave out workflows that no worker has met: Temporal's replayer waits for ever for these."""
    completed = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    async for history in histories:
        if any(event.event_type == completed for event in history.events):
            yield history
