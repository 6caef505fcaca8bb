"""An operator ends the activity of a turn: the task goes on or ends, and nobody waits for ever."""

import asyncio
from typing import Any

import pytest
from a2a.types.a2a_pb2 import TaskState

from tests.support.in_process import Scripted, running
from tests.support.temporal_server import TemporalServer
from tests.support.turns import complete_turn
from tests.support.waiting import within


@pytest.mark.parametrize("result", [None, 7, "done by hand"])
async def test_a_turn_that_is_completed_by_hand_completes_its_task(
    temporal: TemporalServer, result: Any
) -> None:
    client = await temporal.client()
    async with running(client) as agent:
        task_id = await agent.start("say:working gate say:late")
        waiting = asyncio.create_task(_last_state(agent.subscribe(task_id)))
        await complete_turn(client, task_id, result)
        assert await within(20, waiting) == TaskState.TASK_STATE_COMPLETED
        assert (await agent.get(task_id)).status.state == TaskState.TASK_STATE_COMPLETED


async def test_a_turn_that_is_completed_by_hand_makes_way_for_the_next_message(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    async with running(client, Scripted()) as agent:
        task_id = await agent.start("say:working gate")
        await agent.send("chunks:1", task_id=task_id, wait=False)
        await complete_turn(client, task_id, None)
        waiting = asyncio.create_task(_last_state(agent.subscribe(task_id)))
        assert await within(20, waiting) == TaskState.TASK_STATE_COMPLETED
        (artifact,) = (await agent.get(task_id)).artifacts
        assert artifact.parts[0].text == "2.0 "


async def _last_state(stream: Any) -> TaskState | None:
    state: TaskState | None = None
    async for event in stream:
        if hasattr(event, "status"):
            state = event.status.state
    return state
