"""A log that is large for the link to Temporal is read page by page, and none is read twice."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta
from typing import Any

import pytest_asyncio
from a2a.types.a2a_pb2 import (
    Artifact,
    ListTasksRequest,
    Part,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
)
from a2a.utils.errors import InternalError
from temporalio.client import Client

from a2a_temporal import HandlerOptions
from a2a_temporal._log import wire
from a2a_temporal._log.protojson import event_to_json
from tests.support.in_process import CALL, new_task_queue, served
from tests.support.slow_link import noise, slow_link
from tests.support.streams import next_of
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

CHUNKS, CHUNK_BYTES = 30, 50_000
TOTAL = CHUNKS * CHUNK_BYTES
RATE = TOTAL / 2
READ_TIMEOUT = timedelta(seconds=1)


@pytest_asyncio.fixture
async def large(temporal: TemporalServer) -> AsyncGenerator[tuple[str, str]]:
    """The queue and the id of a large task."""
    client, queue = await temporal.client(), new_task_queue()
    async with served(client, queue, HandlerOptions(agent=queue)) as agent:
        task_id = await agent.start("x")
    workflow = client.get_workflow_handle(task_id)
    for number in range(CHUNKS):
        await workflow.signal(wire.EVENTS_SIGNAL, _chunk(number))
    yield queue, task_id


async def test_a_task_larger_than_what_comes_in_one_call_is_read(
    temporal: TemporalServer, large: tuple[str, str]
) -> None:
    queue, task_id = large
    options = HandlerOptions(agent=queue, read_timeout=READ_TIMEOUT)
    async with slow_link(temporal.port, rate=RATE) as link:
        client = await Client.connect(f"127.0.0.1:{link.port}")
        async with served(client, queue, options) as agent:
            task = await agent.get(task_id)
            assert len(task.artifacts[0].parts) == CHUNKS
            async with aclosing(agent.subscribe(task_id)) as stream:
                assert await next_of(stream) == task
        assert link.received < 4 * TOTAL


async def test_what_was_read_before_a_call_ran_out_of_time_is_not_read_again(
    temporal: TemporalServer, large: tuple[str, str], monkeypatch: Any
) -> None:
    queue, task_id = large
    monkeypatch.setattr("a2a_temporal._server.options._ANSWERED_WITHIN", READ_TIMEOUT)
    options = HandlerOptions(agent=queue, read_timeout=READ_TIMEOUT)
    async with slow_link(temporal.port, rate=RATE) as link:
        client = await Client.connect(f"127.0.0.1:{link.port}")
        async with served(client, queue, options) as agent:

            async def read() -> Task | None:
                try:
                    return await agent.get(task_id)
                except InternalError:
                    return None

            assert await read() is None
            task = await eventually(read, within=30)
            assert len(task.artifacts[0].parts) == CHUNKS
        assert link.received < 2 * TOTAL


async def test_a_list_shows_a_task_that_cannot_be_read_in_time_as_far_as_it_is_known(
    temporal: TemporalServer, large: tuple[str, str], monkeypatch: Any
) -> None:
    queue, task_id = large
    monkeypatch.setattr("a2a_temporal._server.options._ANSWERED_WITHIN", READ_TIMEOUT)
    options = HandlerOptions(agent=queue, read_timeout=READ_TIMEOUT)
    async with served(await temporal.client(), queue, options) as near:
        small = await near.start("y")

        async def both() -> bool:
            answer = await near.handler.on_list_tasks(ListTasksRequest(), CALL)
            return len(answer.tasks) == 2

        await eventually(both, within=30)
    async with slow_link(temporal.port, rate=RATE) as link:
        client = await Client.connect(f"127.0.0.1:{link.port}")
        async with served(client, queue, options) as agent:
            answer = await agent.handler.on_list_tasks(ListTasksRequest(), CALL)
            tasks = {task.id: task for task in answer.tasks}
            assert set(tasks) == {small, task_id}
            shown = tasks[task_id]
            assert shown.status.state == TaskState.TASK_STATE_SUBMITTED
            assert shown.status.HasField("timestamp")
            assert shown.context_id
            assert not shown.artifacts
            whole = ListTasksRequest(include_artifacts=True)
            answer = await agent.handler.on_list_tasks(whole, CALL)
            assert small in {task.id for task in answer.tasks}


def _chunk(number: int) -> dict[str, Any]:
    artifact = Artifact(artifact_id="book", parts=[Part(text=noise(CHUNK_BYTES))])
    return {
        "version": wire.LOG_VERSION,
        "turn": 1,
        "attempt": 1,
        "sequence": number + 1,
        "at": "2026-01-02T12:00:00.000Z",
        "events": [event_to_json(TaskArtifactUpdateEvent(artifact=artifact, append=True))],
    }
