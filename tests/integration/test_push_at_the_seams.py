"""A delivery workflow loses no receiver to late signals, busy workers or deploys."""

import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest_asyncio
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import Replayer, Worker

from a2a_temporal import A2APlugin, PushOptions
from a2a_temporal._log import wire
from a2a_temporal._worker.push.contract import PushEnd, PushStart
from tests.support.hook import NEVER, TAKEN, Answer, hook
from tests.support.push_tasks import CONFIG, PUSH, Submitted, submitted
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

FAILING = Answer(status=500)


@pytest_asyncio.fixture
async def client(temporal: TemporalServer) -> Client:
    return await temporal.client()


async def test_a_late_signal_takes_no_config_away(client: Client) -> None:
    async with hook() as receiver:
        receiver.script = lambda _: FAILING
        task = await submitted(client, receiver.url)
        delivery = await _begin(task)
        async with _worker(client, delivery):
            await receiver.asked(1)
            await task.terminate()
            await delivery.cancel()
            await _seen(delivery, EventType.EVENT_TYPE_MARKER_RECORDED)
            await delivery.signal(wire.PUSH_NOTIFY_SIGNAL, {})
            await _seen(delivery, EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
            receiver.script = lambda _: TAKEN
            await receiver.told("FAILED")
            await within(30, delivery.result())
        await _replay(delivery)


async def test_retries_that_a_busy_worker_puts_off_are_no_failures(client: Client) -> None:
    push = replace(PUSH, maximum_attempts=2, concurrency=2, timeout=timedelta(seconds=6))
    async with hook() as hanging, hook() as receiver:
        answers = iter([FAILING])
        hanging.script = lambda _: next(answers, NEVER)
        receiver.script = lambda _: FAILING
        first = await _begin(await submitted(client, hanging.url))
        async with _worker(client, first, push):
            await hanging.asked(2)  # its retry takes the one slot that retries have
            queue = (await first.describe()).task_queue
            delivery = await _begin(await submitted(client, receiver.url), queue=queue)
            put_off = "The worker waits for too many receivers that have failed already"
            await eventually(lambda: _failure(delivery, put_off), within=20)
            given_up = await eventually(lambda: _given_up(delivery), within=20)
            assert given_up["given_up"] == "127.0.0.1 answered 500"
            assert len(receiver.seen) == 2
            await _end(delivery)
            await _end(first)


async def test_a_deploy_is_no_failure_of_a_receiver(client: Client) -> None:
    push = replace(PUSH, maximum_attempts=1, timeout=timedelta(seconds=20))
    async with hook() as receiver:
        receiver.script = lambda _: NEVER
        delivery = await _begin(await submitted(client, receiver.url))
        async with _worker(client, delivery, push):
            await receiver.asked(1)
        receiver.script = lambda _: TAKEN
        async with _worker(client, delivery, push):
            await receiver.told("SUBMITTED")
            await _end(delivery)


async def test_the_handover_waits_however_long_there_is_no_worker(client: Client) -> None:
    async with hook() as receiver:
        task = await submitted(client, receiver.url)
        delivery = await _begin(task, previous=wire.push_workflow_id(task.task_id, 0))
        async with _worker(client, delivery):
            await receiver.told("SUBMITTED")
            # A local activity: there is no time-out that runs while no worker does.
            markers = [
                event.marker_recorded_event_attributes.details["data"].payloads[0].data
                async for event in delivery.fetch_history_events()
                if event.HasField("marker_recorded_event_attributes")
            ]
            assert len(markers) == 1, markers
            assert wire.PUSH_RESUME_ACTIVITY.encode() in markers[0]
            await _end(delivery)


async def _failure(delivery: WorkflowHandle[Any, PushEnd], text: str) -> bool:
    """Say whether the last attempt failed with a text."""
    pending = (await delivery.describe()).raw_description.pending_activities
    return any(each.last_failure.message == text for each in pending)


async def _given_up(delivery: WorkflowHandle[Any, PushEnd]) -> dict[str, Any] | None:
    """Return the delivery whose receiver is given up, once there is one."""
    deliveries: list[dict[str, Any]] = await delivery.query(wire.PUSH_QUERY)
    return next((each for each in deliveries if each["given_up"]), None)


async def _end(delivery: WorkflowHandle[Any, PushEnd]) -> None:
    """Replay what was done, and leave nothing behind."""
    await _replay(delivery)
    await delivery.terminate()


async def _begin(
    task: Submitted, *, previous: str = "", queue: str = ""
) -> WorkflowHandle[Any, PushEnd]:
    """Begin the delivery workflow of a task, on a task queue of its own."""
    start = PushStart(
        task_id=task.task_id,
        run_id=task.run_id,
        number=1,
        configs={CONFIG: [1, 1]},
        previous=previous,
    )
    return await task.client.start_workflow(
        wire.PUSH_WORKFLOW,
        start,
        id=wire.push_workflow_id(task.task_id, 1),
        task_queue=queue or f"push-{uuid.uuid4().hex[:8]}",
        result_type=PushEnd,
    )


@asynccontextmanager
async def _worker(
    client: Client, delivery: WorkflowHandle[Any, PushEnd], push: PushOptions = PUSH
) -> AsyncGenerator[None]:
    """Run a worker for a delivery workflow."""
    queue = (await delivery.describe()).task_queue
    async with Worker(client, task_queue=queue, plugins=[A2APlugin(push=push)]):
        yield


async def _seen(delivery: WorkflowHandle[Any, PushEnd], kind: EventType.ValueType) -> None:
    """Wait until the workflow has seen an event of a kind."""

    async def seen() -> bool:
        kinds = [event.event_type async for event in delivery.fetch_history_events()]
        if kind not in kinds:
            return False
        if kind == EventType.EVENT_TYPE_MARKER_RECORDED:
            return True  # a local activity: recorded by the workflow task that has seen it
        return EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED in kinds[kinds.index(kind) :]

    await eventually(seen, within=30)


async def _replay(delivery: WorkflowHandle[Any, PushEnd]) -> None:
    history = await delivery.fetch_history()
    await Replayer(workflows=[], plugins=[A2APlugin(push=PUSH)]).replay_workflow(history)
