"""Temporal grants fewer long polls than the processes want: they share them, and nothing fails."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from a2a.types.a2a_pb2 import TaskState

from tests.support.in_process import Scripted, agent_worker, new_task_queue, served
from tests.support.metrics import pending_history_polls
from tests.support.streams import watching
from tests.support.temporal_server import TemporalServer, running_server
from tests.support.waiting import eventually, within

GRANTED = 10
STREAMS = 30


@pytest_asyncio.fixture(scope="module")
async def strict(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TemporalServer]:
    """A server that grants a namespace few long polls of each kind at once."""
    limit = f"--dynamic-config-value=frontend.namespaceCount={GRANTED}"
    async with running_server(tmp_path_factory.mktemp("strict"), arguments=[limit]) as server:
        yield server


async def test_streams_beyond_what_temporal_grants_open_and_hear_of_answers(
    strict: TemporalServer,
) -> None:
    client = await strict.client()
    queue = new_task_queue()
    async with (
        agent_worker(client, queue),
        served(client, queue) as agent,
        AsyncExitStack() as stack,
    ):
        tasks = [await within(20, agent.send("ask")) for _ in range(STREAMS)]
        streams = [
            await stack.enter_async_context(watching(agent.subscribe(task.id))) for task in tasks
        ]
        for stream in streams:
            await stream.until(1, within=30)
        for task in tasks:
            await within(20, agent.send("say:thanks", task_id=task.id))
        for stream in streams:
            await stream.end(within=30)
    assert {stream.last_state for stream in streams} == {"TASK_STATE_COMPLETED"}


async def test_a_process_that_comes_when_all_polls_are_taken_still_answers(
    strict: TemporalServer,
) -> None:
    client = await strict.client()
    queue = new_task_queue()
    scripted = Scripted()
    async with (
        agent_worker(client, queue, agent=scripted),
        served(client, queue) as first,
        served(client, queue) as late,
        AsyncExitStack() as stack,
    ):
        for task in [await within(20, first.send("ask")) for _ in range(GRANTED)]:
            stream = await stack.enter_async_context(watching(first.subscribe(task.id)))
            await stream.until(1)

        async def all_taken() -> bool:
            return await pending_history_polls(strict) == GRANTED

        await eventually(all_taken, within=20)
        asked = await within(20, late.send("ask"))
        answered = await within(20, late.send("pause:1 chunks:1", task_id=asked.id))
        assert answered.status.state == TaskState.TASK_STATE_COMPLETED
        stream = await stack.enter_async_context(watching(late.stream("chunks:3 gate chunks:3")))
        await eventually(lambda: len(stream.chunks) == 3, within=20, what="three chunks")
        scripted.gate.set()
        await stream.end(within=20)
        assert stream.chunks == ["1.0 ", "1.1 ", "1.2 "] * 2
        canceled = await within(20, late.cancel(await late.start("pause:60")))
        assert canceled is not None
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED
        assert await first.get(asked.id) == answered
