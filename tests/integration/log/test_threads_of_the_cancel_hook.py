"""A thread that the agent's ``cancel()`` leaves behind keeps no task from being canceled."""

import asyncio
import threading

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import TaskState

from a2a_temporal._worker.agent import loop
from tests.support.in_process import Written, running
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within


async def test_a_hook_that_starts_a_thread_which_hangs(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As where another worker holds the workflow: the cancel comes with a heartbeat.
    monkeypatch.setattr(loop, "end_local_turn", _tell_nobody)
    begun, hangs, hanging = asyncio.Event(), threading.Event(), set[asyncio.Task[bool]]()

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def cancel(context: RequestContext, queue: EventQueue) -> None:
        hanging.add(asyncio.create_task(asyncio.to_thread(hangs.wait)))
        await asyncio.sleep(0)

    async with running(await temporal.client(), Written(turn, cancel=cancel)) as agent:
        task_id = await agent.start("go")
        await within(20, begun.wait())
        try:
            canceled = await within(20, agent.cancel(task_id), what="the cancel")
        finally:
            hangs.set()
        assert canceled is not None
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    await asyncio.gather(*hanging)


def _tell_nobody(run_id: str) -> None:
    """Leave the turn of a run to its heartbeats."""
