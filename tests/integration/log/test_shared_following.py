"""All readers of a task in one process share one long poll, and none can harm another."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from a2a.types.a2a_pb2 import Task, TaskArtifactUpdateEvent

from a2a_temporal._reading.position import LogEvent
from a2a_temporal._server import feed
from tests.support.in_process import Scripted, Served, running
from tests.support.metrics import held_history_polls
from tests.support.streams import next_of, watching
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

CHUNKS = 200


class Stage:
    """A served agent and the gate it waits at."""

    def __init__(self, agent: Served, scripted: Scripted) -> None:
        self.agent = agent
        self.gate = scripted.gate


@pytest_asyncio.fixture
async def stage(temporal: TemporalServer) -> AsyncGenerator[Stage]:
    client = await temporal.client()
    scripted = Scripted()
    async with running(client, scripted) as agent:
        yield Stage(agent, scripted)


async def test_twenty_readers_of_a_task_cost_one_long_poll(
    stage: Stage, temporal: TemporalServer
) -> None:
    task_id = await stage.agent.start("say:a gate chunks:20")
    before = await held_history_polls(temporal, await temporal.client())
    async with AsyncExitStack() as stack:
        streams = [
            await stack.enter_async_context(watching(stage.agent.subscribe(task_id)))
            for _ in range(20)
        ]
        for stream in streams:
            await stream.until(1)
        assert await held_history_polls(temporal, await temporal.client()) <= before + 1
        stage.gate.set()
        for stream in streams:
            await stream.end()
    assert {tuple(stream.chunks) for stream in streams} == {
        tuple(f"1.{index} " for index in range(20))
    }


async def test_the_poll_ends_with_its_last_reader(stage: Stage, temporal: TemporalServer) -> None:
    before = await held_history_polls(temporal, await temporal.client())
    task_id = await stage.agent.start("ask")
    async with watching(stage.agent.subscribe(task_id)) as stream:
        await stream.until(1)
    await eventually(
        lambda: _pending_at_most(temporal, before), within=20, what="the end of the long poll"
    )


async def test_a_slow_reader_loses_nothing(stage: Stage) -> None:
    task_id = await stage.agent.start(f"gate chunks:{CHUNKS}")
    slow = stage.agent.subscribe(task_id)
    await next_of(slow)
    async with watching(stage.agent.subscribe(task_id)) as quick:
        await quick.until(1)
        stage.gate.set()
        await quick.end(within=60)
    async with watching(slow) as late:
        await late.end()
    assert late.chunks == quick.chunks == [f"1.{index} " for index in range(CHUNKS)]


async def test_a_reader_that_stops_reading_harms_nobody_and_costs_little(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_KEPT_EVENTS", 20)
    task_id = await stage.agent.start(f"gate chunks:{CHUNKS}")
    stopped = stage.agent.subscribe(task_id)
    assert isinstance(await next_of(stopped), Task)
    async with watching(stage.agent.subscribe(task_id)) as quick:
        await quick.until(1)
        stage.gate.set()
        await quick.end(within=60)
    assert quick.chunks == [f"1.{index} " for index in range(CHUNKS)]
    # Some objects are proxies of the workflow sandbox, which an isinstance would wake.
    assert sum(type(each) is LogEvent for each in gc.get_objects()) < 60
    async with watching(stopped) as late:
        await late.end()
    assert isinstance(late.events[0], Task), "what was missed comes as the Task as it is now"
    assert late.chunks == quick.chunks
    assert late.last_state == "TASK_STATE_COMPLETED"


async def test_readers_that_come_and_go_disturb_no_other(stage: Stage) -> None:
    task_id = await stage.agent.start(f"gate chunks:{CHUNKS}")
    async with watching(stage.agent.subscribe(task_id)) as steady:
        await steady.until(1)
        stage.gate.set()

        async def come_and_go() -> None:
            for _ in range(10):
                passing = stage.agent.subscribe(task_id)
                await next_of(passing)
                await passing.aclose()

        await asyncio.gather(*(come_and_go() for _ in range(3)), return_exceptions=True)
        await steady.end(within=60)
    assert steady.chunks == [f"1.{index} " for index in range(CHUNKS)]
    assert all(isinstance(event, TaskArtifactUpdateEvent) for event in steady.events[2:-1])


async def _pending_at_most(server: TemporalServer, number: int) -> bool:
    return await held_history_polls(server, await server.client()) <= number
