"""Pages of ListTasks: every task once, newest status first, however many share a millisecond."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from a2a.types import ListTasksRequest, Task, TaskState
from temporalio.client import WorkflowExecutionStatus

from a2a_temporal._server import listing
from tests.support.seeding import SeededAgent
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

DAY = datetime(2026, 3, 1, tzinfo=timezone.utc)


@asynccontextmanager
async def _agent(temporal: TemporalServer) -> AsyncGenerator[SeededAgent]:
    agent = SeededAgent(await temporal.client())
    yield agent
    await agent.handler.aclose()


async def _walk(agent: SeededAgent, size: int, **wanted: Any) -> list[Task]:
    found: list[Task] = []
    token = ""
    while True:
        request = ListTasksRequest(page_size=size, page_token=token, **wanted)
        page = await agent.page(request)
        found += page.tasks
        token = page.next_page_token
        assert page.page_size == size
        assert len(page.tasks) == size if token else 0 <= len(page.tasks) <= size
        if not token:
            assert page.total_size == len(found)
            return found


def _key(task: Task) -> tuple[int, str]:
    return task.status.timestamp.ToMilliseconds(), task.id


def _check(found: list[Task], ids: list[str]) -> None:
    assert sorted(task.id for task in found) == sorted(ids)
    assert found == sorted(found, key=_key, reverse=True)


async def test_tasks_of_equal_times_appear_once_whatever_the_page_size(
    temporal: TemporalServer,
) -> None:
    async with _agent(temporal) as agent:
        times = [DAY + timedelta(milliseconds=number // 50) for number in range(250)]
        ids = await agent.submit(times, contexts=10)
        for size in (7, 50, 100):
            _check(await _walk(agent, size), ids)
        _check(await _walk(agent, 1, context_id="context-3"), ids[3::10])


async def test_a_list_larger_than_a_window_is_walked_in_a_few_calls(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listing, "_WINDOW_ROWS", 40)
    caplog.set_level(logging.DEBUG, "a2a_temporal.server")
    async with _agent(temporal) as agent:
        dense = [DAY + timedelta(milliseconds=number // 3) for number in range(90)]
        burst = [DAY + timedelta(days=20)] * 60
        sparse = [DAY - timedelta(days=30 * number) for number in range(1, 60)]
        ids = await agent.submit([*dense, *burst, *sparse])
        for size in (10, 20):
            caplog.clear()
            _check(await _walk(agent, size), ids)
            calls = [
                int(str(record.args[1]))
                for record in caplog.records
                if isinstance(record.args, tuple) and record.msg.startswith("Listed")
            ]
            assert len(calls) == -(-len(ids) // size)
            assert max(calls) <= 25, calls
            assert sorted(calls)[len(calls) // 2] <= 12, calls


async def test_only_what_is_as_new_as_asked_for(temporal: TemporalServer) -> None:
    async with _agent(temporal) as agent:
        ids = await agent.submit([DAY + timedelta(milliseconds=number) for number in range(20)])
        for since, expected in ((0, 20), (7, 13), (19, 1), (20, 0)):
            wanted = ListTasksRequest()
            wanted.status_timestamp_after.FromDatetime(DAY + timedelta(milliseconds=since))
            found = await _walk(agent, 5, status_timestamp_after=wanted.status_timestamp_after)
            _check(found, ids[20 - expected :])


async def test_a_task_that_the_engine_ended_is_listed_as_failed(temporal: TemporalServer) -> None:
    async with _agent(temporal) as agent:
        terminated, waiting = await agent.submit([DAY, DAY])
        (timed_out,) = await agent.submit([DAY], execution_timeout=timedelta(seconds=1))
        workflow = agent.client.get_workflow_handle(terminated)
        await workflow.terminate()
        for task_id, closed_as in (
            (terminated, WorkflowExecutionStatus.TERMINATED),
            (timed_out, WorkflowExecutionStatus.TIMED_OUT),
        ):
            await _visible_as(agent, task_id, closed_as)

        failed = await _walk(agent, 10, status=TaskState.TASK_STATE_FAILED)
        _check(failed, [terminated, timed_out])
        submitted = await _walk(agent, 10, status=TaskState.TASK_STATE_SUBMITTED)
        _check(submitted, [waiting])
        everything = await _walk(agent, 2)
        _check(everything, [terminated, timed_out, waiting])
        assert everything[-1].id == waiting
        assert not await _walk(agent, 10, status=TaskState.TASK_STATE_COMPLETED)


async def test_what_visibility_claims_and_the_log_denies_is_left_out(
    temporal: TemporalServer,
) -> None:
    async with _agent(temporal) as agent:
        await agent.submit([DAY], indexed_as="input-required")
        assert not await _walk(agent, 10, status=TaskState.TASK_STATE_INPUT_REQUIRED)


async def _visible_as(agent: SeededAgent, task_id: str, status: WorkflowExecutionStatus) -> None:
    async def visible() -> bool:
        query = f"WorkflowId = '{task_id}'"
        return [found.status async for found in agent.client.list_workflows(query)] == [status]

    await eventually(visible, within=20, what=f"{task_id} as {status.name}")
