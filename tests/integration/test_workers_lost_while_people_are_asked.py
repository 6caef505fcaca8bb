"""A worker lost while its agent waits for a person, within `execute()`, is no failed attempt."""

from tests.conftest import NewCluster
from tests.support.cluster import Cluster, Options
from tests.support.processes import Process
from tests.support.results import state
from tests.support.waiting import eventually

ONCE = Options(
    worker=(
        "--heartbeat-timeout=1.5",
        "--heartbeat-interval=0.5",
        "--maximum-attempts=2",
        "--turn-timeout=6",
    )
)
KILLS = 4


async def test_a_task_that_waits_survives_any_number_of_lost_workers(
    new_cluster: NewCluster,
) -> None:
    async with new_cluster(options=ONCE) as cluster:
        task = await cluster.caller.start("auth")
        for kill in range(KILLS):
            await _asks(cluster, task["id"], attempts=kill + 1)
            await _end(cluster, cluster.workers[0], hard=kill % 3 != 2)
        await _asks(cluster, task["id"], attempts=KILLS + 1)
        assert state(await cluster.caller.get(task["id"])) == "AUTH_REQUIRED"
        cluster.release(task["id"])

        async def completed() -> bool:
            return state(await cluster.caller.get(task["id"])) == "COMPLETED"

        await eventually(completed, within=30)


async def _asks(cluster: Cluster, task_id: str, *, attempts: int) -> None:
    """Wait until as many attempts have asked."""

    async def asked() -> bool:
        signals = [
            event.workflow_execution_signaled_event_attributes
            async for event in cluster.workflow(task_id).fetch_history_events()
        ]
        return sum(b"AUTH_REQUIRED" in str(each.input).encode() for each in signals) >= attempts

    await eventually(asked, within=60, what=f"attempt {attempts}")


async def _end(cluster: Cluster, worker: Process, *, hard: bool) -> None:
    if hard:
        worker.kill()
    else:
        worker.terminate()
        await worker.exited(within=60)
    await cluster.restart(worker)
