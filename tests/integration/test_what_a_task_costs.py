"""History is what a user pays for: a task of one turn takes as little of it as it can."""

from tests.support.cluster import Cluster
from tests.support.results import state
from tests.support.waiting import eventually


async def test_a_task_of_one_turn_takes_eleven_history_events(cluster: Cluster) -> None:
    task = await cluster.caller.send_task("echo hello")
    assert state(task) == "COMPLETED"

    async def closed() -> bool:
        return (await cluster.workflow(task["id"]).describe()).close_time is not None

    await eventually(closed, within=15)
    events = [event async for event in cluster.workflow(task["id"]).fetch_history_events()]

    # Start; the workflow task that begins the turn; the turn; its entry; the workflow task that
    # ends the task on it, with the search attributes.
    assert len(events) == 11, [event.event_type for event in events]
