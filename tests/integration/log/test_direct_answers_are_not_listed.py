"""An agent that answers with a Message made no task: none is listed that no client was told of."""

from datetime import timedelta

from a2a.types.a2a_pb2 import ListTasksRequest, Message, Task

from a2a_temporal import HandlerOptions
from tests.support.in_process import (
    CALL,
    Served,
    agent_worker,
    new_task_queue,
    request,
    served,
)
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within


async def _listed(agent: Served) -> list[str]:
    page = await agent.handler.on_list_tasks(ListTasksRequest(), CALL)
    return [task.id for task in page.tasks]


async def test_only_the_tasks_that_clients_know_are_listed(temporal: TemporalServer) -> None:
    client, queue = await temporal.client(), new_task_queue()
    options = HandlerOptions(agent=queue, direct_message_wait=timedelta(seconds=30))
    hasty = HandlerOptions(agent=queue, direct_message_wait=timedelta(milliseconds=1))
    async with (
        agent_worker(client, queue),
        served(client, queue, options) as agent,
        served(client, queue, hasty) as other,
    ):
        for wait in (True, False):
            answer = await within(
                30, agent.handler.on_message_send(request("message:hello", wait=wait), CALL)
            )
            assert isinstance(answer, Message), answer
        (event,) = [each async for each in agent.stream("message:hello")]
        assert isinstance(event, Message)
        told = await within(30, other.send("pause:0.1 message:late", wait=False))
        assert isinstance(told, Task)
        begun = await within(30, agent.send("say:begun"))

        async def both() -> bool:
            return set(await _listed(agent)) == {told.id, begun.id}

        await eventually(both, within=30, what="the two tasks that clients know")
        assert (await agent.get(told.id)).id == told.id
