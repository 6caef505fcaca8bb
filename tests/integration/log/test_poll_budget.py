"""More streams than long polls: none is dropped, none is forgotten, the budget is kept."""

import asyncio
from contextlib import AsyncExitStack

from a2a_temporal import HandlerOptions
from tests.support.in_process import Scripted, agent_worker, new_task_queue, served
from tests.support.logs import at_rest
from tests.support.metrics import pending_history_polls
from tests.support.streams import watching
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

POLLS = 4
STREAMS = 16


async def test_answers_reach_more_parked_streams_than_there_are_polls(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    async with (
        agent_worker(client, queue),
        served(client, queue, HandlerOptions(long_polls=POLLS)) as agent,
        served(client, queue) as other,
        AsyncExitStack() as stack,
    ):
        tasks = [
            task.id for task in await asyncio.gather(*(other.send("ask") for _ in range(STREAMS)))
        ]
        before = await pending_history_polls(temporal)
        streams = [
            await stack.enter_async_context(watching(agent.subscribe(task_id))) for task_id in tasks
        ]
        for stream in streams:
            await stream.until(1, within=10)
        assert await pending_history_polls(temporal) <= before + POLLS
        answers = [
            await stack.enter_async_context(watching(other.stream("say:thanks", task_id=task_id)))
            for task_id in tasks
        ]
        for stream in (*answers, *streams):
            await stream.end(within=60)
        delays = [cold.ended_at - hot.ended_at for cold, hot in zip(streams, answers, strict=True)]
    # Two seconds are usual. Visibility lags on a busy machine; without it a minute would pass.
    assert max(delays) < 30, f"answers came after {max(delays):.1f} s"
    assert {stream.last_state for stream in streams} == {"TASK_STATE_COMPLETED"}


async def test_the_budget_is_never_exceeded(temporal: TemporalServer) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    async with (
        agent_worker(client, queue),
        served(client, queue, HandlerOptions(long_polls=POLLS)) as agent,
        AsyncExitStack() as stack,
    ):
        before = await pending_history_polls(temporal)
        most = 0

        async def look() -> None:
            nonlocal most
            while True:
                most = max(most, await pending_history_polls(temporal) - before)
                await asyncio.sleep(0.02)

        looking = asyncio.create_task(look())
        streams = [
            await stack.enter_async_context(watching(agent.stream("ask"))) for _ in range(STREAMS)
        ]
        for stream in streams:
            await stream.end(within=100)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    assert most <= POLLS
    assert {stream.last_state for stream in streams} == {"TASK_STATE_INPUT_REQUIRED"}


async def test_tasks_that_only_append_chunks_go_on_without_a_poll_of_their_own(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    queue, scripted = new_task_queue(), Scripted()
    async with (
        agent_worker(client, queue, agent=scripted),
        served(client, queue, HandlerOptions(long_polls=2)) as agent,
        AsyncExitStack() as stack,
    ):
        script = "say:working pause:1 chunks:1 gate chunks:1"
        streams = [
            await stack.enter_async_context(watching(agent.stream(script))) for _ in range(6)
        ]
        for stream in streams:  # no change of status brings the chunk along
            await eventually(lambda stream=stream: bool(stream.chunks), within=60, what="a chunk")
        scripted.gate.set()
        for stream in streams:
            await stream.end(within=60)
            assert stream.chunks == ["1.0 ", "1.0 "]


async def test_a_message_to_a_cold_task_is_seen_without_any_worker(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    async with (
        served(client, queue, HandlerOptions(long_polls=1)) as agent,
        AsyncExitStack() as stack,
    ):
        async with agent_worker(client, queue):
            tasks = [(await agent.send("ask")).id for _ in range(3)]
            for task_id in tasks:
                await at_rest(client, task_id)
        for task_id in tasks:
            stream = await stack.enter_async_context(watching(agent.subscribe(task_id)))
            await stream.until(1)
        for task_id in tasks:
            task = await within(
                4, agent.send("say:a", task_id=task_id, wait=False), what="the own message"
            )
            assert len(task.history) == 3


async def test_a_new_stream_gets_its_turn_beside_streams_that_are_silent(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    async with (
        served(client, queue, HandlerOptions(long_polls=2)) as agent,
        AsyncExitStack() as stack,
    ):
        for _ in range(12):  # no worker: all of them are silent, and working as far as one can see
            task_id = await within(4, agent.start("say:a"), what="the start of a task")
            stream = await stack.enter_async_context(watching(agent.subscribe(task_id)))
            await stream.until(1, within=4)
