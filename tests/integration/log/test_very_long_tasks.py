"""Tasks beyond what one history holds, at full size and with the threshold Temporal advises (T6).

With ``-s`` they say what they cost.
"""

import time

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import Part, TaskState
from temporalio.client import Client

from tests.support.in_process import Scripted, agent_worker, new_task_queue, served
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within

UPDATES, TURNS = 20_000, 3_000

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]


class Stepping(Scripted):
    """Also understands ``steps:n``: reports progress n times, then asks."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        command, _, number = context.get_user_input().partition(":")
        if command != "steps":
            await super().execute(context, event_queue)
            return
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        for step in range(int(number)):
            said = updater.new_agent_message([Part(text=f"step {step}")])
            await updater.start_work(said)
        await updater.requires_input()


@pytest.mark.timeout(600)
async def test_twenty_thousand_status_updates_in_one_turn(temporal: TemporalServer) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    began = time.monotonic()
    worker = agent_worker(client, queue, agent=Stepping())
    async with worker, served(client, queue) as agent:
        task = await within(500, agent.send(f"steps:{UPDATES}"), what="the turn")
        taken = time.monotonic() - began
        steps = [m.parts[0].text for m in task.history if m.parts[0].text.startswith("step ")]
        assert steps == [f"step {index}" for index in range(UPDATES)]
        done = await agent.send("chunks:1", task_id=task.id)
        assert done.status.state == TaskState.TASK_STATE_COMPLETED
    await _tell(client, queue, task.id, f"{UPDATES} updates in {taken:.0f} s")


async def test_three_thousand_turns(temporal: TemporalServer) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    began = time.monotonic()
    async with agent_worker(client, queue), served(client, queue) as agent:
        task_id = (await agent.send("ask:0")).id
        for turn in range(1, TURNS):
            task = await agent.send(f"ask:{turn}", task_id=task_id)
            assert task.status.message.parts[0].text == str(turn)
        taken = time.monotonic() - began
        done = await agent.send("chunks:1", task_id=task_id)
        assert done.status.state == TaskState.TASK_STATE_COMPLETED
        said = [message.parts[0].text for message in done.history]
        asked = [text for turn in range(TURNS) for text in (f"ask:{turn}", str(turn))]
        assert said == [*asked, "chunks:1"]
    await _tell(client, queue, task_id, f"{TURNS} turns in {taken:.0f} s")


async def _tell(client: Client, queue: str, task_id: str, what: str) -> None:
    """Print the runs, their events, and how long a replica without memory takes for GetTask."""
    lengths: list[int] = []
    async for run in client.list_workflows(f"WorkflowId = '{task_id}'"):
        assert run.history_length < 51_200
        lengths.append(run.history_length)
    async with served(client, queue) as other:
        task = await other.get(task_id)
        latencies: list[float] = []
        for _ in range(10):
            began = time.monotonic()
            await other.get(task_id)
            latencies.append(time.monotonic() - began)
    print(
        f"{what}; {len(lengths)} runs of at most {max(lengths)} events, {sum(lengths)} in all; "
        f"GetTask {sorted(latencies)[5] * 1000:.0f} ms, Task of {task.ByteSize() / 1000:.0f} KB"
    )
