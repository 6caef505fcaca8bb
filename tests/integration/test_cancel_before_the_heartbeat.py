"""A cancel reaches a turn at once where its workflow runs beside it, and by heartbeat elsewhere."""

import time
from datetime import timedelta

import pytest
from a2a.types import TaskState
from temporalio.client import Client

from a2a_temporal import AgentOptions
from a2a_temporal._reading.reader import read_log
from a2a_temporal._worker.agent import loop
from tests.support.in_process import Scripted, running
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

SLOW_HEART = AgentOptions(
    heartbeat_interval=timedelta(seconds=6), heartbeat_timeout=timedelta(seconds=20)
)
FIRST_BEAT = 3.0


async def test_beside_its_workflow_a_turn_waits_for_no_heartbeat(temporal: TemporalServer) -> None:
    assert await seconds_to_cancel(await temporal.client()) < FIRST_BEAT / 2


async def test_away_from_its_workflow_it_hears_with_the_next_heartbeat(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell_nobody(run_id: str) -> None:
        """As in a process where no turn runs."""

    monkeypatch.setattr(loop, "end_local_turn", tell_nobody)
    assert FIRST_BEAT / 2 < await seconds_to_cancel(await temporal.client()) < 3 * FIRST_BEAT


async def seconds_to_cancel(client: Client) -> float:
    """Return how long a working task took to be CANCELED; its agent's cancel() has been called."""
    scripted = Scripted()
    async with running(client, scripted, options=SLOW_HEART) as agent:
        task_id = await agent.start("say:working gate")

        async def works() -> bool:
            return (await read_log(client, task_id)).turn == 1

        await eventually(works, within=10)
        asked = time.monotonic()
        await agent.cancel(task_id)

        async def canceled() -> bool:
            return (await agent.get(task_id)).status.state == TaskState.TASK_STATE_CANCELED

        await eventually(canceled, within=15)
        took = time.monotonic() - asked
        said = [part.text for each in (await agent.get(task_id)).history for part in each.parts]
        assert "cleaning up" in said
        return took
