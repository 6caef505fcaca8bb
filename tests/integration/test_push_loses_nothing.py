"""No notification is lost between deliveries: where one ends is where it has told everything."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryResponse
from temporalio.client import Client
from temporalio.testing import ActivityEnvironment

from a2a_temporal._reading.position import LogPosition
from a2a_temporal._worker.push.activities import PushActivities
from a2a_temporal._worker.push.contract import DeliverInput, DeliverResult, PushStart
from a2a_temporal._worker.push.notifications import Notification
from a2a_temporal._worker.push.request import Receiver
from tests.support.hook import hook
from tests.support.push_tasks import CONFIG, PUSH, Submitted, submitted
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

SLOW = 0.5


@pytest_asyncio.fixture
async def client(temporal: TemporalServer) -> Client:
    return await temporal.client()


async def test_what_is_written_while_a_delivery_sends_is_told_by_the_next(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    activities = PushActivities(PUSH)
    async with hook() as receiver:
        task = await submitted(client, receiver.url)

        send = Receiver.send

        async def send_late(to: Receiver, notification: Notification) -> None:
            await task.terminate()
            await _log_end(task, activities)
            await send(to, notification)

        with monkeypatch.context() as patched:
            patched.setattr(Receiver, "send", send_late)
            first = await _deliver(task, activities)
        assert receiver.states() == ["SUBMITTED"]
        last = await _deliver(task, activities, first.position)
        assert last.outcome == "delivered"
        assert receiver.states() == ["SUBMITTED", "FAILED"]


async def test_what_temporal_is_slow_to_tell_is_told(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    activities = PushActivities(PUSH)
    async with hook() as receiver:
        task = await submitted(client, receiver.url)
        first = await _deliver(task, activities)
        _hold_up(client, monkeypatch)
        await task.terminate()
        await _deliver(task, activities, first.position)
        assert receiver.states() == ["SUBMITTED", "FAILED"]


async def test_an_end_that_temporal_is_slow_to_tell_is_seen(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    activities = PushActivities(PUSH)
    async with hook() as receiver:
        task = await submitted(client, receiver.url)
        assert await _log_end(task, activities) == "open"
        _hold_up(client, monkeypatch)
        await task.terminate()
        assert await _log_end(task, activities) == "closed"


async def test_who_reads_a_long_log_says_all_the_while_that_it_lives(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats: list[Any] = []

    async def has_beaten_twice() -> None:
        await eventually(lambda: len(beats) >= 2, within=30, what="two heartbeats")

    async with hook() as receiver:
        task = await submitted(client, receiver.url)
        _hold_up(client, monkeypatch, has_beaten_twice)
        await _deliver(task, PushActivities(PUSH), heartbeat=lambda *said: beats.append(said))
        assert receiver.states() == ["SUBMITTED"]


async def test_a_run_is_told_whole_when_the_one_before_is_no_longer_kept(client: Client) -> None:
    async with hook() as receiver:
        task = await submitted(client, receiver.url)
        lost = LogPosition(str(uuid.uuid4()), event_id=50)
        await _deliver(task, PushActivities(PUSH), lost)
        assert receiver.states() == ["SUBMITTED"]


async def _answers_late() -> None:
    await asyncio.sleep(SLOW)


def _hold_up(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    until: Callable[[], Awaitable[None]] = _answers_late,
) -> None:
    """Have Temporal answer late when a client reads a history."""
    service = client.workflow_service
    read = service.get_workflow_execution_history

    async def read_late(*args: Any, **kwargs: Any) -> GetWorkflowExecutionHistoryResponse:
        await until()
        return await read(*args, **kwargs)

    monkeypatch.setattr(service, "get_workflow_execution_history", read_late)


async def _deliver(
    task: Submitted,
    activities: PushActivities,
    position: LogPosition | None = None,
    *,
    heartbeat: Callable[..., None] | None = None,
) -> DeliverResult:
    """Make one delivery, as a worker does on behalf of a delivery workflow."""
    begin = position or LogPosition(task.run_id)
    given = DeliverInput(task.task_id, task.run_id, CONFIG, since=1, position=begin)
    environment = ActivityEnvironment(task.client)
    environment.on_heartbeat = heartbeat or environment.on_heartbeat
    return await within(20, environment.run(activities.deliver, given), what="the delivery")


async def _log_end(task: Submitted, activities: PushActivities) -> str:
    """Ask for the end of the log in the same way."""
    given = PushStart(task.task_id, task.run_id, number=1)
    running = ActivityEnvironment(task.client).run(activities.log_end, given)
    return (await within(20, running, what="the end of the log")).end
