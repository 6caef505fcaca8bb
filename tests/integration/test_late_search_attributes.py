"""A namespace without room for the search attributes of tasks, and with room only later."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from a2a.types.a2a_pb2 import ListTasksRequest, TaskState
from a2a.utils.errors import UnsupportedOperationError
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    RemoveSearchAttributesRequest,
)
from temporalio.client import Client

from a2a_temporal import HandlerOptions
from a2a_temporal._gateway import Gateway
from a2a_temporal._server.search_attributes import register_search_attributes
from tests.support.command_line import ran
from tests.support.in_process import CALL, Served, agent_worker, new_task_queue, served
from tests.support.temporal_server import TemporalServer, running_server
from tests.support.waiting import eventually


@pytest_asyncio.fixture
async def full(tmp_path: Path) -> AsyncIterator[TemporalServer]:
    """A server whose namespace has six Keyword attributes of others, of the ten that it takes."""
    async with running_server(tmp_path) as server:
        await _add(await server.client(), *(f"Theirs{number}" for number in range(6)))
        yield server


async def test_five_keywords_are_all_it_takes(full: TemporalServer) -> None:
    client = await full.client()
    await _remove(client, "Theirs0")
    assert await register_search_attributes(Gateway(client))


async def test_tasks_from_before_the_attributes_are_listed_once_they_are_indexed(
    full: TemporalServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("a2a_temporal._server.search_attributes._ASK_AGAIN_SECONDS", 0.1)
    client, queue = await full.client(), new_task_queue()
    async with (
        agent_worker(client, queue),
        served(client, queue, HandlerOptions(agent=queue)) as agent,
    ):
        assert "cannot have more than 10 search attribute of type Keyword" in caplog.text
        assert "Without them ListTasks" in caplog.text
        assert "search-attribute create" not in caplog.text
        said = await _doctor(full)
        assert "takes 10 of type Keyword, 6 are in use, and 5 more are needed" in said
        assert "search-attribute create" not in said
        parked, done = await agent.send("ask"), await agent.send("say:done")
        with pytest.raises(UnsupportedOperationError):
            await _list(agent)
        await _remove(client, "Theirs0")

        async def made() -> str | None:
            await agent.handler.start()  # pyright: ignore[reportAttributeAccessIssue] # of ours
            return "registered now" if "registered now" in caplog.text else None

        await eventually(made, within=60)
        assert "doctor --reindex" in caplog.text
        assert "1 open tasks are not listed" in await _doctor(full)
        assert await _list(agent) == {}
        said = await _doctor(full, "--reindex")
        assert "1 open tasks were asked" in said

        async def listed() -> bool:
            return await _list(agent) == {parked.id: TaskState.TASK_STATE_INPUT_REQUIRED}

        await eventually(listed, within=30)
        await agent.send("say:more", task_id=parked.id)

        async def ended() -> bool:
            return await _list(agent) == {parked.id: TaskState.TASK_STATE_COMPLETED}

        await eventually(ended, within=30)
        assert (await agent.get(done.id)).status.state == TaskState.TASK_STATE_COMPLETED


async def _list(agent: Served) -> dict[str, int]:
    answer = await agent.handler.on_list_tasks(ListTasksRequest(), CALL)
    return {task.id: task.status.state for task in answer.tasks}


async def _doctor(server: TemporalServer, *arguments: str) -> str:
    done = await ran(server.address, "doctor", *arguments)
    return " ".join((done.out + done.err).split())


async def _add(client: Client, *names: str) -> None:
    kind = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
    await client.operator_service.add_search_attributes(
        AddSearchAttributesRequest(
            namespace=client.namespace, search_attributes=dict.fromkeys(names, kind)
        )
    )


async def _remove(client: Client, *names: str) -> None:
    await client.operator_service.remove_search_attributes(
        RemoveSearchAttributesRequest(namespace=client.namespace, search_attributes=names)
    )
