"""`cancel()` is called while `execute()` runs, which may end by itself before it is interrupted."""

import asyncio
import time

from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Part, Task, TaskState
from temporalio.client import Client

from tests.support.in_process import Turn, Written, running, updater_of
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within

CANCELED = TaskState.TASK_STATE_CANCELED


async def _canceled(client: Client, turn: Turn, cancel: Turn, begun: asyncio.Event) -> Task:
    async with running(client, Written(turn, cancel=cancel)) as agent:
        task_id = await agent.start("go")
        await within(30, begun.wait())
        task = await within(30, agent.cancel(task_id), what="the cancel")
    assert task is not None
    return task


async def test_an_agent_may_end_by_itself_when_its_cancel_says_so(
    temporal: TemporalServer,
) -> None:
    begun, stop, stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()
    said: list[str] = []

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        begun.set()
        try:
            await stop.wait()
            await updater_of(context, queue).add_artifact([Part(text="half")], artifact_id="half")
            stopped.set()
        except asyncio.CancelledError:
            said.append("interrupted")
            raise

    async def cancel(context: RequestContext, queue: EventQueue) -> None:
        stop.set()
        await stopped.wait()
        await updater_of(context, queue).cancel()

    task = await _canceled(await temporal.client(), turn, cancel, begun)
    assert task.status.state == CANCELED
    assert [each.artifact_id for each in task.artifacts] == ["half"]
    assert said == []


async def test_one_that_does_not_is_interrupted(temporal: TemporalServer) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    async def cancel(context: RequestContext, queue: EventQueue) -> None:
        await updater_of(context, queue).cancel()
        await ended.wait()

    task = await _canceled(await temporal.client(), turn, cancel, begun)
    assert task.status.state == CANCELED


async def test_no_end_is_published_while_the_agent_still_works(temporal: TemporalServer) -> None:
    begun = asyncio.Event()
    worked: list[float] = []

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await asyncio.sleep(1)  # puts its things away
            await updater_of(context, queue).add_artifact([Part(text="kept")], artifact_id="kept")
            worked.append(time.monotonic())

    async def cancel(context: RequestContext, queue: EventQueue) -> None:
        await updater_of(context, queue).cancel()

    task = await _canceled(await temporal.client(), turn, cancel, begun)
    assert task.status.state == CANCELED
    assert worked
    assert [each.artifact_id for each in task.artifacts] == ["kept"]
