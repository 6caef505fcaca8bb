"""Each message opens a turn of its own, also one that nobody has looked at yet."""

from a2a.types.a2a_pb2 import TaskState
from temporalio.client import Client
from temporalio.worker import Worker

from a2a_temporal import A2APlugin, TemporalRequestHandler
from tests.integration.log.one_at_a_time_workflow import OneAtATime
from tests.support.in_process import CARD, Scripted, Served, new_task_queue
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually


async def test_messages_that_wait_unread_are_handled_in_turns_of_their_own(
    temporal: TemporalServer,
) -> None:
    client, queue = await temporal.client(), new_task_queue()
    handler = TemporalRequestHandler(client, agent_card=CARD, task_queue=queue, workflow=OneAtATime)
    await handler.start()
    async with Worker(
        client,
        task_queue=queue,
        workflows=[OneAtATime],
        plugins=[A2APlugin(agent_executor=Scripted())],
        max_cached_workflows=0,
        max_concurrent_workflow_task_polls=1,
    ):
        agent = Served(handler=handler, task_queue=queue)
        task_id = (await agent.send("ask")).id
        await agent.send("chunks:1 ask", task_id=task_id, wait=False)
        await agent.send("chunks:1", task_id=task_id, wait=False)
        for turn in ("turn-2", "turn-3"):
            await _hand_over(client, agent, task_id, turn)
        await eventually(lambda: _completed(agent, task_id), within=20)
    await handler.aclose()


async def _hand_over(client: Client, agent: Served, task_id: str, turn: str) -> None:
    """Hand the next message to the agent, and wait for what it makes of it."""
    await client.get_workflow_handle(task_id).signal("hand_over")

    async def made() -> bool:
        artifacts = (await agent.get(task_id)).artifacts
        return bool(artifacts) and artifacts[-1].artifact_id == turn

    await eventually(made, within=20, what=f"the artifact of {turn}")


async def _completed(agent: Served, task_id: str) -> bool:
    return (await agent.get(task_id)).status.state == TaskState.TASK_STATE_COMPLETED
