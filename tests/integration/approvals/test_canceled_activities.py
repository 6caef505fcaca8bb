"""CANCELED is reported when the work has stopped, also that of an author's activities."""

import pytest

from a2a_temporal import Agent
from a2a_temporal.testing import running_agent, state_of
from tests.integration.approvals.canceled_flows import ACTIVITIES, LEDGER, Pays, PaysAsChild
from tests.support.in_process import CARD
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

PAYS = Agent(card=CARD, workflow=Pays, workflows=[PaysAsChild], activities=ACTIVITIES)


@pytest.mark.parametrize("kind", ["publish", "obstinate", "in_thread", "beside", "local", "child"])
async def test_a_ledger_no_longer_grows_once_its_task_is_canceled(
    temporal: TemporalServer, kind: str
) -> None:
    async with running_agent(await temporal.client(), PAYS) as agent:
        task = await agent.send(kind, wait=False)

        def lines() -> list[str]:
            return [line for line in LEDGER if line.endswith(task.id)]

        await eventually(lines, within=30, what="work")
        await agent.workflow(task).cancel()
        canceled = await within(30, agent.until(task, "canceled"))
        assert state_of(canceled) == "canceled"
        seen = lines()
        assert any("over" in line for line in seen), seen
        if kind != "local":  # Temporal tells a workflow of a cancel when that is over
            assert not any("shipped" in line for line in seen), seen
        if kind in ("publish", "beside"):
            assert not any("paid" in line for line in seen), seen
        await agent.replay()
        assert lines() == seen
