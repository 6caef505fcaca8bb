"""A cancel that cannot be carried out now is carried out later, without being asked again."""

from tests.conftest import NewCluster
from tests.support.cluster import Cluster, Options
from tests.support.processes import stopwatch
from tests.support.results import state
from tests.support.waiting import eventually, steadily, within


async def _cancel_without_an_ear(cluster: Cluster, task_id: str) -> None:
    """Cancel while no worker can hear it: the answer is the truth, and it comes in time."""
    watch = stopwatch()
    answer = await within(20, cluster.caller.cancel(task_id), what="CancelTask")
    assert state(answer) == "WORKING", f"after {watch.seconds} s: {answer}"

    async def not_yet() -> None:
        assert state(await cluster.caller.get(task_id)) == "WORKING"

    await steadily(not_yet, during=2, every=0.3)


async def _becomes_canceled(cluster: Cluster, task_id: str) -> None:
    async def canceled() -> bool:
        return state(await cluster.caller.get(task_id)) == "CANCELED"

    await eventually(canceled, within=20)
    # A worker that was given up for lost notes its interruption a moment later; it works no more.
    worked = cluster.ledger.count(task_id, "tick")

    def silent() -> None:
        assert cluster.ledger.count(task_id, "tick") == worked

    await steadily(silent, during=2)


async def test_a_frozen_worker_obeys_when_it_wakes(new_cluster: NewCluster) -> None:
    # It sleeps for about as long as a silent worker counts as alive; this one is not given up.
    async with new_cluster(options=Options(worker=("--heartbeat-timeout=60",))) as cluster:
        task = await cluster.caller.start("sleep 120")
        await eventually(lambda: cluster.ledger.count(task["id"], "tick") > 1, within=30)
        (worker,) = cluster.workers

        worker.pause()
        await _cancel_without_an_ear(cluster, task["id"])
        worker.resume()

        await _becomes_canceled(cluster, task["id"])


async def test_a_new_worker_obeys_in_place_of_a_dead_one(new_cluster: NewCluster) -> None:
    async with new_cluster() as cluster:
        task = await cluster.caller.start("sleep 120")
        await eventually(lambda: cluster.ledger.count(task["id"], "tick") > 1, within=30)

        cluster.workers[0].kill()
        await _cancel_without_an_ear(cluster, task["id"])
        await cluster.add_worker()

        await _becomes_canceled(cluster, task["id"])
