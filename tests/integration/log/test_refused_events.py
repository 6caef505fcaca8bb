"""An event that the log cannot hold leaves no trace, and what an agent does then ends its turn."""

import contextlib

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.struct_pb2 import Struct

from tests.support.in_process import Written, running, updater_of
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

TOO_LONG = "x" * 2_000_000
REFUSED = {
    "a question that is no JSON": TaskState.TASK_STATE_INPUT_REQUIRED,
    "an end that is no JSON": TaskState.TASK_STATE_COMPLETED,
    "a credential asked for without JSON": TaskState.TASK_STATE_AUTH_REQUIRED,
}


def _no_json() -> Struct:
    metadata = Struct()
    metadata["score"] = float("nan")
    return metadata


@pytest.mark.parametrize("said", REFUSED.values(), ids=REFUSED.keys())
async def test_a_status_that_is_refused_was_never_said(
    temporal: TemporalServer, said: TaskState
) -> None:
    async def turn(_: RequestContext, queue: EventQueue) -> None:
        status = TaskStatus(state=said)
        with contextlib.suppress(Exception):
            await queue.enqueue_event(TaskStatusUpdateEvent(status=status, metadata=_no_json()))

    async with running(await temporal.client(), Written(turn)) as agent:
        task = await within(30, agent.send("go"), what="the end of the turn")
    assert task.status.state == TaskState.TASK_STATE_COMPLETED


async def test_a_last_word_that_is_too_long_ends_the_task_no_less(temporal: TemporalServer) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        await updater.start_work()

        async def working() -> bool:
            task = await agent.get(updater.task_id)
            return task.status.state == TaskState.TASK_STATE_WORKING

        await eventually(working, within=30)
        with contextlib.suppress(Exception):
            await updater.complete(updater.new_agent_message([Part(text=TOO_LONG)]))

    async with running(await temporal.client(), Written(turn)) as agent:
        task = await within(30, agent.send("go"), what="the end of the turn")
    assert task.status.state == TaskState.TASK_STATE_COMPLETED


async def test_another_answer_may_follow_a_refused_one(temporal: TemporalServer) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        whole = Task(id=context.task_id or "", status=TaskStatus(), metadata=_no_json())
        reply = Message(message_id="1", role=Role.ROLE_AGENT, metadata=_no_json())
        for refused in (reply, whole, reply):
            with pytest.raises(Exception, match="NaN"):
                await queue.enqueue_event(refused)
        await updater_of(context, queue).reject()

    async with running(await temporal.client(), Written(turn)) as agent:
        task = await within(30, agent.send("go"), what="the end of the turn")
    assert task.status.state == TaskState.TASK_STATE_REJECTED


async def test_what_is_no_event_is_refused_alone(temporal: TemporalServer) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        with pytest.raises(TypeError, match="'a text'"):
            await queue.enqueue_event("a text")  # pyright: ignore[reportArgumentType] # on purpose
        await updater_of(context, queue).reject()

    async with running(await temporal.client(), Written(turn)) as agent:
        task = await within(30, agent.send("go"), what="the end of the turn")
    assert task.status.state == TaskState.TASK_STATE_REJECTED


async def test_the_size_of_an_event_is_that_of_its_json(temporal: TemporalServer) -> None:
    """Control characters take one byte as protobuf, and six of what Temporal takes 2 MB of."""

    async def turn(_: RequestContext, queue: EventQueue) -> None:
        artifact = Artifact(artifact_id="a", parts=[Part(text="\0" * 430_000)])
        await queue.enqueue_event(TaskArtifactUpdateEvent(artifact=artifact))

    written = Written(turn)
    async with running(await temporal.client(), written) as agent:
        task = await within(30, agent.send("go"), what="the end of the turn")
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert "fit into one entry" in task.status.message.parts[0].text
    assert written.turns == 1
