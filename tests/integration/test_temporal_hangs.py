"""Temporal answers nothing, or all too slowly: every call is answered with an error in time."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from a2a.types.a2a_pb2 import (
    AgentCard,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InternalError
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec

from a2a_temporal import HandlerOptions, PushOptions, TemporalRequestHandler
from tests.support.calls import all_of
from tests.support.in_process import CALL, CARD, Served, agent_worker, new_task_queue
from tests.support.temporal_server import TemporalServer, running_server
from tests.support.waiting import within

_PROMISED = 10
_BUSY = 2  # what a busy machine may add to a bound that lies just below
_URL = "http://127.0.0.1:9/hook"
_OPTIONS = HandlerOptions(push=PushOptions(allowed_hosts=("127.0.0.1",)))


class _Slow(PayloadCodec):
    """Takes nearly as long for a payload as a whole call may."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        await asyncio.sleep(4)
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return await self.encode(payloads)


async def _first(events: AsyncGenerator[Any]) -> Any:
    try:
        return await anext(events)
    finally:
        await events.aclose()


def _calls(served: Served, task_id: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    handler = served.handler
    config = TaskPushNotificationConfig(task_id=task_id, id="a", url=_URL)
    one = GetTaskPushNotificationConfigRequest(task_id=task_id, id="a")
    every = ListTaskPushNotificationConfigsRequest(task_id=task_id)
    gone = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="a")
    return {
        "send": lambda: served.send("ask"),
        "send without waiting": lambda: served.send("ask", wait=False),
        "send to a task": lambda: served.send("ask", task_id=task_id),
        "stream": lambda: _first(served.stream("ask")),
        "stream to a task": lambda: _first(served.stream("ask", task_id=task_id)),
        "get": lambda: served.get(task_id),
        "list": lambda: handler.on_list_tasks(ListTasksRequest(), CALL),
        "subscribe": lambda: _first(served.subscribe(task_id)),
        "cancel": lambda: served.cancel(task_id),
        "set": lambda: handler.on_create_task_push_notification_config(config, CALL),
        "get config": lambda: handler.on_get_task_push_notification_config(one, CALL),
        "list configs": lambda: handler.on_list_task_push_notification_configs(every, CALL),
        "delete": lambda: handler.on_delete_task_push_notification_config(gone, CALL),
    }


@asynccontextmanager
async def _handler(client: Client, queue: str) -> AsyncGenerator[Served]:
    """Serve as a process does that has just begun: it has asked Temporal nothing."""
    card = AgentCard()
    card.CopyFrom(CARD)
    card.capabilities.push_notifications = True
    handler = TemporalRequestHandler(client, agent_card=card, task_queue=queue, options=_OPTIONS)
    try:
        yield Served(handler=handler, task_queue=queue)
    finally:
        await handler.aclose()


async def _refused(name: str, call: Callable[[], Awaitable[Any]]) -> tuple[str, float]:
    began = time.monotonic()
    with pytest.raises(InternalError, match="Please try again"):
        await within(3 * _PROMISED, call(), what=name)
    return name, time.monotonic() - began


async def test_every_call_fails_in_the_promised_time(tmp_path: Path) -> None:
    queue = new_task_queue()
    async with running_server(tmp_path) as temporal:
        client = await Client.connect(temporal.address)
        unconnected = await Client.connect(temporal.address, lazy=True)
        async with (
            agent_worker(client, queue),
            _handler(client, queue) as warm,
            _handler(client, queue) as fresh,
            _handler(unconnected, queue) as lazy,
        ):
            task_id = (await warm.send("ask")).id
            temporal.process.pause()
            try:
                took = await all_of(
                    *(
                        _refused(f"{kind}: {name}", call)
                        for kind, served in {"warm": warm, "fresh": fresh, "lazy": lazy}.items()
                        for name, call in _calls(served, task_id).items()
                    )
                )
            finally:
                temporal.process.resume()
            late = {name: round(seconds, 1) for name, seconds in took if seconds > _PROMISED}
            assert not late, late


async def test_calls_that_are_each_just_in_time_add_up_to_no_more(
    temporal: TemporalServer,
) -> None:
    queue = new_task_queue()
    client = await temporal.client()
    converter = replace(DataConverter.default, payload_codec=_Slow())
    far = await Client.connect(temporal.address, data_converter=converter)
    async with _handler(client, queue) as near, _handler(far, queue) as slow:
        task_id = await near.start("ask")
        _, took = await _refused("send", lambda: slow.send("ask", task_id=task_id))
        assert took < _PROMISED + _BUSY
