"""A task id that a client has chosen takes nothing from other applications of the namespace."""

import asyncio
import uuid

import pytest
from a2a.types.a2a_pb2 import Message, Role, Task
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from temporalio.client import Client

from a2a_temporal import HandlerOptions
from a2a_temporal.testing import state_of
from tests.support.in_process import agent_worker, new_task_queue, served
from tests.support.temporal_server import TemporalServer


async def _history(client: Client, workflow_id: str) -> list[int]:
    workflow = client.get_workflow_handle(workflow_id)
    return [event.event_type async for event in workflow.fetch_history_events()]


@pytest.mark.parametrize("closed", [False, True])
async def test_the_id_of_a_workflow_of_others_is_neither_taken_nor_touched(
    temporal: TemporalServer, closed: bool
) -> None:
    client = await temporal.client()
    theirs = f"order-{uuid.uuid4()}"
    workflow = await client.start_workflow("Theirs", id=theirs, task_queue=new_task_queue())
    if closed:
        await workflow.terminate()
    before = await _history(client, theirs)
    run_id = (await client.get_workflow_handle(theirs).describe()).run_id
    async with served(client, new_task_queue(), HandlerOptions(client_task_ids=True)) as agent:
        with pytest.raises(TaskNotFoundError):
            await agent.send("ask", task_id=theirs, wait=False)
        with pytest.raises(TaskNotFoundError):
            await agent.cancel(theirs)
    assert await _history(client, theirs) == before
    assert (await client.get_workflow_handle(theirs).describe()).run_id == run_id


async def test_ids_may_have_to_begin_with_what_the_server_says(temporal: TemporalServer) -> None:
    options = HandlerOptions(client_task_ids="wf-")
    async with served(await temporal.client(), new_task_queue(), options) as agent:
        mine = f"wf-{uuid.uuid4()}"
        assert (await agent.send("ask", task_id=mine, wait=False)).id == mine
        with pytest.raises(InvalidParamsError, match="'wf-'"):
            await agent.send("ask", task_id=f"order-{uuid.uuid4()}", wait=False)


@pytest.mark.parametrize("internal", ["{}/push/1", "{}/push/configs/1", "temporal-sys-scheduler:x"])
async def test_no_id_of_the_library_or_of_temporal_is_taken(
    temporal: TemporalServer, internal: str
) -> None:
    options = HandlerOptions(client_task_ids=True)
    async with served(await temporal.client(), new_task_queue(), options) as agent:
        task_id = await agent.start("ask")
        with pytest.raises(InvalidParamsError):
            await agent.send("ask", task_id=internal.format(task_id), wait=False)


async def test_what_a_client_sends_first_is_told_from_what_it_sends_next(
    temporal: TemporalServer,
) -> None:
    client, queue = await temporal.client(), new_task_queue()
    options = HandlerOptions(client_task_ids="wf-")
    async with served(client, queue, options) as agent, agent_worker(client, queue):
        mine = f"wf-{uuid.uuid4()}-draft-a1"
        # At the same moment too, each time under a message id of its own.
        begun = await asyncio.gather(*(agent.send("say:draft ask", task_id=mine) for _ in range(3)))
        assert {state_of(task) for task in begun} == {"input-required"}
        again = await agent.send("say:draft ask", task_id=mine)
        assert (state_of(again), len(_sent(again))) == ("input-required", 1)

        answered = await agent.send("say:thanks", task_id=mine)
        assert (state_of(answered), len(_sent(answered))) == ("completed", 2)
        late = await agent.send("say:draft ask", task_id=mine)
        assert (state_of(late), len(_sent(late))) == ("completed", 2)
        with pytest.raises(UnsupportedOperationError):
            await agent.send("say:more", task_id=mine)


async def test_in_a_task_whose_id_the_server_chose_the_same_words_are_said_twice(
    temporal: TemporalServer,
) -> None:
    client, queue = await temporal.client(), new_task_queue()
    options = HandlerOptions(client_task_ids="wf-")
    async with served(client, queue, options) as agent, agent_worker(client, queue):
        task = await agent.send("ask")
        again = await agent.send("ask", task_id=task.id)
        assert len(_sent(again)) == 2


def _sent(task: Task) -> list[Message]:
    return [message for message in task.history if message.role == Role.ROLE_USER]
