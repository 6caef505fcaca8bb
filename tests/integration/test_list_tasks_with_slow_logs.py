"""A page of tasks whose logs take long to read in all is slow; it is not refused for ever."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from a2a.types.a2a_pb2 import ListTasksRequest, ListTasksResponse
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec

from a2a_temporal import HandlerOptions
from tests.support.in_process import CALL, Served, new_task_queue, served
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

_TASKS = 6
_A_READ = 0.7


class _Slow(PayloadCodec):
    """Takes as long for a payload as a long log takes to read."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        await asyncio.sleep(_A_READ)
        return list(payloads)


async def _listed(agent: Served) -> ListTasksResponse:
    return await agent.handler.on_list_tasks(ListTasksRequest(), CALL)


async def test_each_log_has_its_own_bound(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = new_task_queue()
    converter = replace(DataConverter.default, payload_codec=_Slow())
    far = await Client.connect(temporal.address, data_converter=converter)
    options = HandlerOptions(agent=queue, read_timeout=timedelta(seconds=3))
    async with served(await temporal.client(), queue, options) as near:
        for _ in range(_TASKS):
            await near.start("ask")

        async def shown() -> bool:
            return (await _listed(near)).total_size == _TASKS

        await eventually(shown, within=30, every=0.5)
        bound = timedelta(seconds=(_TASKS - 1) * _A_READ)
        monkeypatch.setattr("a2a_temporal._server.options._ANSWERED_WITHIN", bound)
        monkeypatch.setattr("a2a_temporal._server.listing._READS_AT_ONCE", 1)
        async with served(far, queue, options) as slow:
            assert len((await _listed(slow)).tasks) == _TASKS
