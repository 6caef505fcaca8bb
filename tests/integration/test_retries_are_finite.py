"""Another attempt is made when the agent asks for one, and never without end."""

from datetime import timedelta

from a2a.types.a2a_pb2 import TaskState

from a2a_temporal import AgentOptions
from tests.support.calls import Caller, over_every_binding
from tests.support.cluster import Cluster
from tests.support.in_process import running
from tests.support.results import state, status_text
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

DEFAULT_ATTEMPTS = 5


def _attempts(cluster: Cluster, task_id: str) -> list[int]:
    return [line.attempt for line in cluster.ledger.lines(task_id, "flaky", "boom")]


async def test_an_agent_that_asks_for_a_retry_gets_one(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        started = await caller.start("flaky 2")
        await eventually(lambda: _attempts(cluster, started["id"]), within=30)
        between = await caller.get(started["id"])
        assert state(between) == "WORKING"
        assert "attempt" not in str(between)

        async def completed() -> bool:
            return state(await caller.get(started["id"])) == "COMPLETED"

        await eventually(completed, within=20)
        assert _attempts(cluster, started["id"]) == [1, 2, 3]

    await over_every_binding(cluster.caller, scenario)


async def test_an_agent_that_never_succeeds_fails(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task = await within(40, caller.send_task("flaky 99"), what="the last attempt")
        assert state(task) == "FAILED"
        assert "SECRET" not in status_text(task)
        assert _attempts(cluster, task["id"]) == list(range(1, DEFAULT_ATTEMPTS + 1))

    await over_every_binding(cluster.caller, scenario)


async def test_the_pause_between_attempts_may_be_longer_than_a_minute(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    patient = AgentOptions(retry_interval=timedelta(minutes=5))
    async with running(client, options=patient) as agent:
        task = await within(20, agent.send("say:hello"), what="the turn")
        assert task.status.state == TaskState.TASK_STATE_COMPLETED


async def test_an_error_that_is_no_retryable_one_fails_at_once(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        for command in ("boom", "boom-public"):
            task = await within(20, caller.send_task(command), what=command)
            assert state(task) == "FAILED"
            assert _attempts(cluster, task["id"]) == [1]

    await over_every_binding(cluster.caller, scenario)
