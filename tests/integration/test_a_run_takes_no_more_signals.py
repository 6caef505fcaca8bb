"""Temporal takes so many signals a run: a task at work keeps room to end, or says why it fails."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest_asyncio
from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Task, TaskState
from a2a.utils.errors import UnsupportedOperationError
from temporalio.client import Client

from a2a_temporal import HandlerOptions
from a2a_temporal.testing import state_of, status_text
from tests.support.in_process import (
    Scripted,
    Served,
    Written,
    running,
    updater_of,
)
from tests.support.temporal_server import running_server
from tests.support.waiting import eventually, within

_SIGNALS = 40
_WAITING = 10


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    low = f"--dynamic-config-value=history.maximumSignalsPerExecution={_SIGNALS}"
    async with running_server(tmp_path, arguments=[low]) as temporal:
        yield await Client.connect(temporal.address)


async def _sent_until_refused(agent: Served, task_id: str) -> tuple[int, str]:
    """Send messages; returns how many were taken, and what was said of the first that was not."""
    for number in range(2 * _SIGNALS):
        try:
            await agent.send(f"say:{number}", task_id=task_id, wait=False)
        except UnsupportedOperationError as refusal:
            return number, refusal.message
    raise AssertionError("all messages were taken")


async def _ended(agent: Served, task_id: str) -> Task:
    async def look() -> Task | None:
        task = await agent.get(task_id)
        return task if state_of(task) in ("completed", "failed") else None

    return await eventually(look, within=30)


async def test_more_messages_than_may_wait_are_refused_and_those_taken_are_handled(
    client: Client,
) -> None:
    scripted = Scripted()
    options = HandlerOptions(maximum_waiting_messages=_WAITING)
    async with running(client, scripted, handler=options) as agent:
        task_id = await agent.start("say:begun gate")
        await eventually(lambda: _has_begun(agent, task_id), within=30)
        taken, refusal = await _sent_until_refused(agent, task_id)
        assert taken == _WAITING
        assert f"{_WAITING} messages" in refusal

        scripted.gate.set()
        task = await _ended(agent, task_id)
        assert state_of(task) == "completed", status_text(task)
        said = [part.text for message in task.history for part in message.parts]
        assert {f"{number}" for number in range(taken - 1)} <= set(said)


async def test_a_message_beyond_the_limit_is_refused_for_good_and_by_name(client: Client) -> None:
    scripted = Scripted()
    async with running(client, scripted) as agent:
        task_id = await agent.start("say:begun gate")
        await eventually(lambda: _has_begun(agent, task_id), within=30)
        taken, refusal = await _sent_until_refused(agent, task_id)
        assert taken == _SIGNALS - 1
        assert "as many messages and events as Temporal takes" in refusal

        scripted.gate.set()
        task = await _ended(agent, task_id)
        assert state_of(task) == "failed"
        assert "as many messages and events as Temporal takes" in status_text(task)


async def test_a_turn_of_too_many_events_fails_once_and_names_the_limit(client: Client) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        states = (TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_SUBMITTED)
        for number in range(10 * _SIGNALS):
            await updater.update_status(states[number % 2])
            await asyncio.sleep(0.02)

    written = Written(turn)
    async with running(client, written) as agent:
        task = await within(30, agent.send("go"))
        assert state_of(task) == "failed"
        assert "as many messages and events as Temporal takes" in status_text(task)
        assert written.turns == 1


async def test_a_task_at_the_limit_can_be_canceled(client: Client) -> None:
    scripted = Scripted()
    async with running(client, scripted) as agent:
        task_id = await agent.start("say:begun gate")
        await eventually(lambda: _has_begun(agent, task_id), within=30)
        await _sent_until_refused(agent, task_id)
        task = await agent.cancel(task_id)
        assert task is not None
        assert state_of(task) == "canceled"


async def _has_begun(agent: Served, task_id: str) -> bool:
    return status_text(await agent.get(task_id)) == "begun"
