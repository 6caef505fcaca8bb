"""What a call answers is not shown in what the call begins with, nor until the agent speaks."""

from a2a.types.a2a_pb2 import Task, TaskState

from tests.support.in_process import Scripted, Served, running
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within

ASKS, WORKING = TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_WORKING


async def _asked(agent: Served) -> str:
    task = await within(30, agent.send("ask"))
    assert task.status.state == ASKS
    return task.id


async def test_a_stream_begins_with_a_task_at_work(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with running(client, Scripted()) as agent:
        task_id = await _asked(agent)
        events = [each async for each in agent.stream("say:thanks ask", task_id=task_id)]
    first = events[0]
    assert isinstance(first, Task)
    assert first.status.state == WORKING, first
    assert not first.status.HasField("message")


async def test_a_task_is_at_work_until_its_agent_speaks(temporal: TemporalServer) -> None:
    client, scripted = await temporal.client(), Scripted()
    async with running(client, scripted) as agent:
        task_id = await _asked(agent)
        sent = await within(30, agent.send("gate", task_id=task_id, wait=False))
        assert sent.status.state == WORKING
        assert (await agent.get(task_id)).status.state == WORKING
        scripted.gate.set()
