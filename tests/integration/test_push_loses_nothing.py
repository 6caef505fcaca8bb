"""No notification is lost between deliveries: where one ends is where it has told everything."""

import asyncio
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, Task
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryResponse
from temporalio.client import Client
from temporalio.testing import ActivityEnvironment

from a2a_temporal import HandlerOptions, PushOptions, TemporalRequestHandler
from a2a_temporal._worker.push_activity import PushActivities
from a2a_temporal._worker.push_lane import Delivered, Delivery, Question
from a2a_temporal._worker.push_log import Position
from a2a_temporal._worker.push_room import PushRoom
from tests.support.hook import Hook, hook
from tests.support.in_process import request
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within

PUSH = PushOptions(allowed_hosts=["127.0.0.1"], timeout=timedelta(seconds=2))
CARD = AgentCard(
    name="silent",
    version="1",
    capabilities=AgentCapabilities(push_notifications=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
)
CONFIG = "mine"
SLOW = 0.5


@pytest_asyncio.fixture
async def client(temporal: TemporalServer) -> Client:
    return await temporal.client()


async def test_what_is_written_while_a_delivery_waits_for_its_place_is_told_by_the_next(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    activities = PushActivities(PUSH)
    async with hook() as receiver:
        task_id, run_id = await _submitted(client, receiver)

        @asynccontextmanager
        async def place(room: PushRoom, *, failing: bool) -> AsyncGenerator[bool]:
            await client.get_workflow_handle(task_id).terminate()
            await ActivityEnvironment(client).run(activities.survey, Question(task_id, run_id, 1))
            yield True

        with monkeypatch.context() as patched:
            patched.setattr(PushRoom, "place", place)
            first = await _deliver(client, activities, task_id, run_id, Position(run_id))
        assert receiver.states() == ["SUBMITTED"]
        last = await _deliver(client, activities, task_id, run_id, first.position, closing=True)
        assert last.outcome == "delivered"
        assert receiver.states() == ["SUBMITTED", "FAILED"]


async def test_what_temporal_is_slow_to_tell_is_told(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    activities = PushActivities(PUSH)
    async with hook() as receiver:
        task_id, run_id = await _submitted(client, receiver)
        first = await _deliver(client, activities, task_id, run_id, Position(run_id))
        _slow_down(client, monkeypatch)
        await client.get_workflow_handle(task_id).terminate()
        await _deliver(client, activities, task_id, run_id, first.position)
        assert receiver.states() == ["SUBMITTED", "FAILED"]


async def test_an_end_that_temporal_is_slow_to_tell_is_seen(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    activities = PushActivities(PUSH)
    async with hook() as receiver:
        task_id, run_id = await _submitted(client, receiver)
        question = Question(task_id, run_id, 1)
        survey = ActivityEnvironment(client).run(activities.survey, question)
        assert (await within(10, survey)).end == "open"
        _slow_down(client, monkeypatch)
        await client.get_workflow_handle(task_id).terminate()
        survey = ActivityEnvironment(client).run(activities.survey, question)
        assert (await within(10, survey)).end == "closed"


def _slow_down(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Temporal answer late when a client reads a history."""
    service = client.workflow_service
    read = service.get_workflow_execution_history

    async def read_slowly(*args: Any, **kwargs: Any) -> GetWorkflowExecutionHistoryResponse:
        await asyncio.sleep(SLOW)
        return await read(*args, **kwargs)

    monkeypatch.setattr(service, "get_workflow_execution_history", read_slowly)


async def _submitted(client: Client, receiver: Hook) -> tuple[str, str]:
    """Begin a task that no worker knows of; its id and that of its run."""
    name = f"silent-{uuid.uuid4().hex[:8]}"
    options = HandlerOptions(agent=name, push=PUSH)
    handler = TemporalRequestHandler(client, agent_card=CARD, task_queue=name, options=options)
    message = request("hello", wait=False)
    config = message.configuration.task_push_notification_config
    config.id, config.url = CONFIG, receiver.url
    task = await handler.on_message_send(message, ServerCallContext())
    await handler.aclose()
    assert isinstance(task, Task)
    return task.id, (await client.get_workflow_handle(task.id).describe()).run_id


async def _deliver(
    client: Client,
    activities: PushActivities,
    task_id: str,
    run_id: str,
    position: Position,
    *,
    closing: bool = False,
) -> Delivered:
    """Make one delivery, as a worker does on behalf of a delivery workflow."""
    delivery = Delivery(task_id, run_id, CONFIG, since=1, position=position, closing=closing)
    return await within(20, ActivityEnvironment(client).run(activities.deliver, delivery))
