"""A turn that has not asked anything is not over because the task still shows an older question."""

import asyncio

from a2a.types.a2a_pb2 import TaskState

from tests.support.in_process import running
from tests.support.temporal_server import TemporalServer
from tests.support.turns import complete_turn
from tests.support.waiting import eventually, within


async def test_an_attempt_that_failed_before_it_reported_a_status_is_made_again(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    async with running(client) as agent:
        task_id = (await agent.send("ask:first")).id
        answered = await within(20, agent.send("chunks:2 flaky ask:second", task_id=task_id))
        assert answered.status.message.parts[0].text == "second"
        (artifact,) = answered.artifacts
        assert [part.text for part in artifact.parts] == ["2.0 ", "2.1 "]


async def test_a_turn_completed_by_hand_before_it_reported_a_status_completes_its_task(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    async with running(client) as agent:
        task_id = (await agent.send("ask:first")).id
        waiting = asyncio.create_task(agent.send("chunks:1 gate", task_id=task_id))

        async def has_chunks() -> bool:
            return bool((await agent.get(task_id)).artifacts)

        await eventually(has_chunks, within=20)
        await complete_turn(client, task_id, None)
        task = await within(20, waiting)
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
