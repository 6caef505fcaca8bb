"""A log that takes longer to read than a call may: what reads it again goes on, or does without."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest_asyncio
from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import (
    AgentCard,
    Artifact,
    DeleteTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    Part,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InternalError
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec

from a2a_temporal import HandlerOptions, PushOptions, TemporalRequestHandler
from a2a_temporal._log import wire
from a2a_temporal._log.protojson import event_to_json
from a2a_temporal._server.resume import CURSOR_PARAMETER, URI
from tests.support.in_process import CALL, CARD, new_task_queue, served
from tests.support.streams import next_of
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

ENTRIES = 30


class Slow(PayloadCodec):
    """Takes as long for a payload as a codec server that is far away."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        await asyncio.sleep(0.1)
        return list(payloads)


@pytest_asyncio.fixture
async def slow(temporal: TemporalServer) -> AsyncGenerator[tuple[TemporalRequestHandler, str]]:
    """A handler for which a log takes three calls to read, and a task with such a log."""
    client, queue = await temporal.client(), new_task_queue()
    async with served(client, queue) as near:
        task_id = await near.start("ask")
    for number in range(ENTRIES):
        await client.get_workflow_handle(task_id).signal(wire.EVENTS_SIGNAL, _chunk(number))
    card = AgentCard()
    card.CopyFrom(CARD)
    card.capabilities.push_notifications = True
    far = TemporalRequestHandler(
        await Client.connect(
            temporal.address,
            data_converter=replace(DataConverter.default, payload_codec=Slow()),
        ),
        agent_card=card,
        task_queue=queue,
        options=HandlerOptions(
            read_timeout=timedelta(seconds=1), push=PushOptions(allowed_hosts=("127.0.0.1",))
        ),
    )
    try:
        yield far, task_id
    finally:
        await far.aclose()


async def test_a_resumed_stream_begins_with_the_task_instead(
    slow: tuple[TemporalRequestHandler, str], temporal: TemporalServer
) -> None:
    handler, task_id = slow
    client = await temporal.client()
    run_id = (await client.get_workflow_handle(task_id).describe()).run_id
    call = ServerCallContext(requested_extensions={URI})
    call.state["headers"] = {CURSOR_PARAMETER: f"{run_id}.1.0"}

    async def resumed() -> object:
        stream = handler.on_subscribe_to_task(SubscribeToTaskRequest(id=task_id), call)
        async with aclosing(stream):
            return await next_of(stream)

    task = await eventually(_if_it_can(resumed), within=20)
    assert isinstance(task, Task)
    assert len(task.artifacts[0].parts) == ENTRIES


async def test_a_push_config_is_set_and_deleted(slow: tuple[TemporalRequestHandler, str]) -> None:
    handler, task_id = slow
    config = TaskPushNotificationConfig(task_id=task_id, id="a", url="http://127.0.0.1:9/hook")
    every = ListTaskPushNotificationConfigsRequest(task_id=task_id)
    gone = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="a")

    async def known() -> list[str]:
        listed = await handler.on_list_task_push_notification_configs(every, CALL)
        return [each.id for each in listed.configs] or ["none"]

    async def deleted() -> bool:
        await handler.on_delete_task_push_notification_config(gone, CALL)
        return True

    async def set_() -> TaskPushNotificationConfig:
        return await handler.on_create_task_push_notification_config(config, CALL)

    assert await eventually(_if_it_can(known), within=20) == ["none"]
    assert await set_() == config
    assert await known() == ["a"]
    assert await deleted()
    assert await known() == ["none"]


def _chunk(number: int) -> dict[str, object]:
    parts = [Part(text=f"{number} ")]
    event = TaskArtifactUpdateEvent(artifact=Artifact(artifact_id="a", parts=parts), append=True)
    return {
        "version": wire.LOG_VERSION,
        "turn": 1,
        "attempt": 1,
        "sequence": number + 1,
        "at": "2026-01-02T12:00:00.000Z",
        "events": [event_to_json(event)],
    }


def _if_it_can(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return a call that answers with None where it would answer that it cannot now."""

    async def tried() -> Any:
        try:
            return await call()
        except InternalError:
            return None

    return tried
