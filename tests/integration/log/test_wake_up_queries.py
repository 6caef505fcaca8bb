"""What streams without a poll cost in visibility queries is bounded, however busy the agent is."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal import HandlerOptions
from a2a_temporal._server import changes
from a2a_temporal._server.changes import Changes
from tests.support.in_process import Served, new_task_queue, served
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

NAMED, PAGE, CALLS = 5, 10, 2
MANY = 12  # more than are asked about by name in one look
BUSY = 30  # more than fit into the pages of one look


class _Visibility:
    """Counts the visibility calls of a client, and the rows that came; can be made to fail."""

    def __init__(self, client: Client) -> None:
        self.rows: list[int] = []
        self.failing = False
        self._list = client.workflow_service.list_workflow_executions

    async def list_workflow_executions(self, *args: Any, **options: Any) -> Any:
        if self.failing and self.rows:
            raise RPCError("not now", RPCStatusCode.RESOURCE_EXHAUSTED, b"")
        page = await self._list(*args, **options)
        self.rows.append(len(page.executions))
        return page


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_NAMED", NAMED)
    monkeypatch.setattr(changes, "_PAGE", PAGE)


@pytest_asyncio.fixture
async def client(temporal: TemporalServer) -> Client:
    return await temporal.client()


@pytest.fixture
def visibility(client: Client, monkeypatch: pytest.MonkeyPatch) -> _Visibility:
    watched = _Visibility(client)
    monkeypatch.setattr(
        client.workflow_service, "list_workflow_executions", watched.list_workflow_executions
    )
    return watched


@pytest_asyncio.fixture
async def agent(temporal: TemporalServer) -> AsyncIterator[Served]:
    queue = new_task_queue()
    options = HandlerOptions(agent=queue)
    async with served(await temporal.client(), queue, options) as agent:
        yield agent


async def _changed(agent: Served, client: Client, number: int) -> list[str]:
    """Begin so many tasks, which is a change as well, and wait until visibility shows them."""
    begun = await asyncio.gather(*(agent.start("ask") for _ in range(number)))

    async def shown() -> bool:
        found = await client.count_workflows(f"TaskQueue = '{agent.task_queue}'")
        return found.count == number

    await eventually(shown, within=20)
    return list(begun)


async def test_few_streams_cost_one_query_and_no_row_of_another_task(
    client: Client, agent: Served, visibility: _Visibility
) -> None:
    looking = Changes(client, agent.task_queue)
    tasks = await _changed(agent, client, BUSY)
    changed = await looking.among(tasks[:3])
    assert set(changed) == set(tasks[:3])
    assert visibility.rows == [3]


async def test_many_streams_of_a_quiet_agent_cost_one_query(
    client: Client, agent: Served, visibility: _Visibility
) -> None:
    looking = Changes(client, agent.task_queue)
    tasks = await _changed(agent, client, 4)
    others = [f"quiet-{number}" for number in range(MANY)]
    for _ in range(3):
        assert set(await looking.among([*others, *tasks])) == set(tasks)
    assert visibility.rows == [4] * 3


async def test_many_streams_of_a_busy_agent_cost_a_bounded_number_of_queries(
    client: Client, agent: Served, visibility: _Visibility
) -> None:
    looking = Changes(client, agent.task_queue)
    tasks = await _changed(agent, client, BUSY)
    followed = tasks[:MANY]
    found: set[str] = set()
    for look in range(2):  # twelve are two parts, of two calls each
        before = len(visibility.rows)
        found |= set(await looking.among(followed))
        tried = CALLS if look == 0 else 0
        assert len(visibility.rows) - before <= CALLS + tried
    assert found == set(followed)


async def test_a_look_that_fails_is_made_up_for(
    client: Client, agent: Served, visibility: _Visibility, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = Changes(client, agent.task_queue)
    followed = (await _changed(agent, client, BUSY))[:MANY]
    monkeypatch.setattr(looking, "_busy_until", float("inf"))
    visibility.failing = True
    with pytest.raises(RPCError):  # in its second call
        await looking.among(followed)
    visibility.failing = False
    found: set[str] = set()
    for _ in range(2):
        found |= set(await looking.among(followed))
    assert found == set(followed)
