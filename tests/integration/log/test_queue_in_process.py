"""Messages that wait while the agent works are each handled, one after the other."""

import asyncio

import pytest
from a2a.types.a2a_pb2 import TaskState
from temporalio.client import Client

from a2a_temporal._reading.reader import read_log
from tests.support.in_process import Scripted, running
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

SAYS_NOTHING, SAYS_SOMETHING = "gate", "gate chunks:2"


@pytest.mark.parametrize("script", [SAYS_NOTHING, SAYS_SOMETHING])
async def test_every_message_that_waited_is_handled(temporal: TemporalServer, script: str) -> None:
    client = await temporal.client()
    scripted = Scripted()
    async with running(client, scripted) as agent:
        task_id = await agent.start(script)
        for _ in range(2):
            await agent.send(script, task_id=task_id, wait=False)
        last = asyncio.create_task(agent.send("chunks:2", task_id=task_id))
        await eventually(lambda: _accepted(client, task_id), within=30, what="four messages")
        scripted.gate.set()
        task = await within(20, last, what="the last answer")
    texts = ["".join(part.text for part in artifact.parts) for artifact in task.artifacts]
    turns = (1, 2, 3, 4) if script == SAYS_SOMETHING else (4,)
    assert texts == [f"{turn}.0 {turn}.1 " for turn in turns]
    assert task.status.state == TaskState.TASK_STATE_COMPLETED


async def _accepted(client: Client, task_id: str) -> bool:
    return (await read_log(client, task_id)).turns == 4
