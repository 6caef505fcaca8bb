"""`turn_timeout` is policy: reached, it ends the turn once. Waiting for a person is no work."""

import asyncio
import time
from datetime import timedelta

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import TaskState

from a2a_temporal import AgentOptions
from a2a_temporal.activity import current_turn
from a2a_temporal.errors import RetryableError
from tests.support.in_process import (
    Turn,
    Written,
    running,
    updater_of,
)
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within

COMPLETED, FAILED = TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED
ASKS = ["requires_auth", "requires_input"]


async def _end(
    temporal: TemporalServer, turn: Turn, *, limit: float, cancel: Turn | None = None
) -> tuple[TaskState, str, Written]:
    """Run one task; return how it ended."""
    client = await temporal.client()
    options = AgentOptions(
        turn_timeout=timedelta(seconds=limit),
        retry_interval=timedelta(milliseconds=50),
        heartbeat_interval=timedelta(milliseconds=200),
    )
    agent = Written(turn, cancel=cancel)
    async with running(client, agent, options=options) as serving:
        task_id = await serving.start("go")
        async for _ in serving.subscribe(task_id):
            pass
        task = await serving.get(task_id)
    text = " ".join(part.text for part in task.status.message.parts)
    return task.status.state, text, agent


async def test_a_turn_that_reaches_its_limit_ends_once(temporal: TemporalServer) -> None:
    said: list[str] = []

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        await updater_of(context, queue).start_work()
        said.append("charged")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            said.append("interrupted")
            raise

    async def cancel(context: RequestContext, queue: EventQueue) -> None:
        said.append("cleaned up")
        await updater_of(context, queue).cancel()

    began = time.monotonic()
    state, text, agent = await within(50, _end(temporal, turn, limit=1.5, cancel=cancel))
    assert state == FAILED
    assert text == "The agent did not finish within its time limit of 1.5 seconds."
    assert said == ["charged", "cleaned up", "interrupted"]
    assert agent.turns == 1
    assert time.monotonic() - began >= 1.5


@pytest.mark.parametrize("ask", ASKS)
async def test_time_in_which_an_agent_waits_for_a_person_is_no_work(
    temporal: TemporalServer, ask: str
) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        await getattr(updater, ask)()
        await asyncio.sleep(3)
        await updater.start_work()
        await updater.complete()

    state, text, agent = await within(50, _end(temporal, turn, limit=1))
    assert (state, text, agent.turns) == (COMPLETED, "", 1)


async def test_a_limit_holds_again_once_the_agent_goes_on(temporal: TemporalServer) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        await updater.requires_auth()
        await asyncio.sleep(2)
        await updater.start_work()
        await asyncio.sleep(60)

    state, _, agent = await within(50, _end(temporal, turn, limit=1))
    assert (state, agent.turns) == (FAILED, 1)


async def test_all_attempts_share_one_limit(temporal: TemporalServer) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        await asyncio.sleep(1.2)
        if current_turn().attempt < 5:
            raise RetryableError("again")

    state, text, agent = await within(50, _end(temporal, turn, limit=3))
    assert state == FAILED
    assert "time limit of 3 seconds" in text
    assert agent.turns == 3
