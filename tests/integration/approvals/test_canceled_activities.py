"""CANCELED is reported when the work has stopped, also that of an author's activities."""

import asyncio

from a2a_temporal import Agent
from a2a_temporal.testing import RunningAgent, running_agent, state_of
from tests.integration.approvals.canceled_flows import (
    ACTIVITIES,
    LEDGER,
    Pays,
    PaysAsChild,
    PaysTwice,
)
from tests.support.in_process import CARD
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

PAYS = Agent(card=CARD, workflow=Pays, workflows=[PaysAsChild, PaysTwice], activities=ACTIVITIES)


async def test_a_ledger_no_longer_grows_once_its_task_is_canceled(
    temporal: TemporalServer,
) -> None:
    async with running_agent(await temporal.client(), PAYS) as agent:
        kinds = ("publish", "obstinate", "in_thread", "beside", "local", "child", "child_of_two")
        seen = await asyncio.gather(*(_canceled(agent, kind) for kind in kinds))
        await agent.replay()
        assert [_lines(task_id) for task_id, _ in seen] == [lines for _, lines in seen]


async def _canceled(agent: RunningAgent, kind: str) -> tuple[str, list[str]]:
    """Cancel a task whose activity works; return its id, and the ledger as it was then."""
    task = await agent.send(kind, wait=False)
    await eventually(lambda: _lines(task.id), within=30, what=f"the work of {kind}")
    await agent.workflow(task).cancel()
    canceled = await within(60, agent.until(task, "canceled", within=50), what=kind)
    lines = _lines(task.id)
    assert state_of(canceled) == "canceled"
    assert any("over" in line for line in lines), (kind, lines)
    if kind != "local":  # Temporal tells a workflow of a cancel when that is over
        assert not any("shipped" in line for line in lines), (kind, lines)
    if kind in ("publish", "beside", "child_of_two"):
        assert not any("paid" in line for line in lines), (kind, lines)
    return task.id, lines


def _lines(task_id: str) -> list[str]:
    return [line for line in LEDGER if line.endswith(task_id)]
