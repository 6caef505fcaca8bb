"""A delete that an error has cut short is completed by its repeat."""

import asyncio

import pytest
from a2a.types.a2a_pb2 import (
    AgentCard,
    DeleteTaskPushNotificationConfigRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InternalError

from a2a_temporal import HandlerOptions, PushOptions, TemporalRequestHandler
from a2a_temporal._log import wire
from a2a_temporal._server.push_configs import PushConfigs
from tests.support.in_process import CALL, CARD, Served, new_task_queue
from tests.support.temporal_server import TemporalServer

_URL = "http://127.0.0.1:9/hook"


async def test_the_deliveries_of_a_finished_task_are_stopped_by_the_repeat(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, queue = await temporal.client(), new_task_queue()
    card = AgentCard()
    card.CopyFrom(CARD)
    card.capabilities.push_notifications = True
    options = HandlerOptions(push=PushOptions(allowed_hosts=("127.0.0.1",)))
    handler = TemporalRequestHandler(client, agent_card=card, task_queue=queue, options=options)
    task_id = await Served(handler=handler, task_queue=queue).start("ask")
    config = TaskPushNotificationConfig(task_id=task_id, id="mine", url=_URL)
    await handler.on_create_task_push_notification_config(config, CALL)
    await client.get_workflow_handle(task_id).terminate()
    # Without a worker there is no delivery: this one has its name, and takes what it is told.
    delivery = await client.start_workflow(
        "delivery", id=wire.push_workflow_id(task_id, 1), task_queue=queue
    )
    gone = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="mine")

    async def too_late(*_: object) -> None:
        raise asyncio.TimeoutError

    with monkeypatch.context() as slow:
        slow.setattr(PushConfigs, "_stop_deliveries", too_late)
        with pytest.raises(InternalError, match="try again"):
            await handler.on_delete_task_push_notification_config(gone, CALL)
    await handler.on_delete_task_push_notification_config(gone, CALL)
    told = [
        event.workflow_execution_signaled_event_attributes.signal_name
        async for event in delivery.fetch_history_events()
        if event.HasField("workflow_execution_signaled_event_attributes")
    ]
    assert told == [wire.PUSH_CONFIG_SIGNAL]
    await delivery.terminate()
    await handler.aclose()
