"""Visibility answers only so many calls a second: more lists at once take longer; none fails."""

import asyncio
from collections import Counter
from pathlib import Path

from a2a.types.a2a_pb2 import ListTasksRequest, ListTasksResponse
from temporalio.client import Client

from tests.support.in_process import CALL, Served, new_task_queue, served
from tests.support.temporal_server import running_server
from tests.support.waiting import eventually, within

_RATE = 10  # what Temporal grants a namespace, if nobody raises it
_LISTS = 40
_TASKS = 3


async def _listed(agent: Served) -> ListTasksResponse:
    return await agent.handler.on_list_tasks(ListTasksRequest(), CALL)


async def test_many_lists_at_once_wait_for_their_turn(tmp_path: Path) -> None:
    low = f"--dynamic-config-value=frontend.namespaceRPS.visibility={_RATE}"
    async with running_server(tmp_path, arguments=[low]) as temporal:
        client = await Client.connect(temporal.address)
        async with served(client, new_task_queue()) as agent:
            for _ in range(_TASKS):
                await agent.start("ask")

            async def shown() -> bool:
                return (await _listed(agent)).total_size == _TASKS

            await eventually(shown, within=20, every=0.5)
            listing = asyncio.gather(
                *(_listed(agent) for _ in range(_LISTS)), return_exceptions=True
            )
            answers = await within(30, listing)
            told = Counter(
                each.total_size if isinstance(each, ListTasksResponse) else repr(each)
                for each in answers
            )
            assert told == {_TASKS: _LISTS}
