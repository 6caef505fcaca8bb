"""A step of a workflow that is as large as Temporal takes ends its task as any other would."""

import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.converter import DataConverter, ExternalStorage

from a2a_temporal import Agent, EncryptionCodec, FileSystemStorage
from a2a_temporal.testing import RunningAgent, running_agent, state_of, status_text
from tests.integration.approvals.full_steps import FullSteps, measure
from tests.support.in_process import CARD
from tests.support.temporal_server import TemporalServer

AGENT = Agent(card=CARD, workflow=FullSteps, activities=[measure])


@pytest.fixture
async def agent(temporal: TemporalServer) -> AsyncIterator[RunningAgent]:
    async with running_agent(await temporal.client(), AGENT) as agent:
        yield agent


@pytest.fixture
async def storing(temporal: TemporalServer, tmp_path: Path) -> AsyncIterator[RunningAgent]:
    storage = ExternalStorage(drivers=[FileSystemStorage(tmp_path)])
    converter = dataclasses.replace(
        DataConverter.default,
        external_storage=storage,
        payload_codec=EncryptionCodec({"key": b"k" * 32}),
    )
    client = await Client.connect(temporal.address, data_converter=converter)
    async with running_agent(client, AGENT) as agent:
        yield agent


@pytest.mark.parametrize(
    ("steps", "sizes"),
    [
        ("artifact 1400000; return 1400000", [1_400_000, 1_400_000]),
        ("artifact 1700000; return 1700000", [1_700_000, 1_700_000]),
        ("artifact 2x1499800", [1_499_800, 1_499_800]),
        ("complete 1700000; return 1700000", []),
    ],
)
async def test_a_full_step_has_room_for_the_end(
    agent: RunningAgent, steps: str, sizes: list[int]
) -> None:
    task = await agent.send(steps)
    assert (state_of(task), status_text(task)[:200].strip("x")) == ("completed", "")
    assert [len(each.parts[0].text) for each in task.artifacts] == sizes
    await _is_closed(agent, task.id, WorkflowExecutionStatus.COMPLETED)
    await agent.replay()


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ("artifact 2x1499800; raise 19000", "The task failed. Reference: "),
        ("artifact 2x1499800; fail 3000", "were published in one step"),
        ("artifact 10x600000", "ExternalStorage"),
    ],
)
async def test_a_full_step_has_room_for_a_failure(
    agent: RunningAgent, steps: str, text: str
) -> None:
    await _fails(agent, steps, text)


async def test_a_result_that_is_too_large_leaves_a_completed_task_completed(
    agent: RunningAgent,
) -> None:
    task = await agent.send("complete 10; return 3000000")
    assert state_of(task) == "completed"
    await _is_closed(agent, task.id, WorkflowExecutionStatus.COMPLETED)


@pytest.mark.parametrize("steps", ["carry 2500000", "artifact 2x1400000; carry 1500000"])
async def test_what_no_new_run_can_take_over_fails_the_task(
    agent: RunningAgent, steps: str
) -> None:
    task = await agent.send(steps)
    assert state_of(task) == "failed"
    assert "What a new run needs to take over" in status_text(task)


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ("call 2500000", "The input of activity 'measure' has 2500002 bytes; Temporal takes "),
        ("calls 1500000", "The input of activity 'measure' has 1500002 bytes, and 3000004 were"),
        ("artifact 2x1400000; call 1500000", "Await something in between"),
    ],
)
async def test_what_no_activity_can_be_given_fails_the_task(
    agent: RunningAgent, steps: str, text: str
) -> None:
    await _fails(agent, steps, text)


async def test_what_an_activity_can_be_given_reaches_it(agent: RunningAgent) -> None:
    task = await agent.send("calls 1200000; call 2000000; artifact 2x1400000; ask; call 1500000")
    assert state_of(task) == "input-required"
    task = await agent.send("go on", task=task)
    assert state_of(task) == "completed"


async def test_many_small_payloads_are_too_much_for_one_step_beside_a_storage(
    storing: RunningAgent,
) -> None:
    task = await storing.send("artifact 40x200000")
    assert state_of(task) == "failed"
    assert "were published in one step" in status_text(task)
    assert "ExternalStorage" not in status_text(task)


@pytest.mark.parametrize(
    ("steps", "total"),
    [
        ("artifact 40x300000; return 250000", 12_250_000),
        ("artifact 14x200000; return 250000", 3_050_000),
    ],
)
async def test_what_a_storage_takes_costs_a_step_next_to_nothing(
    storing: RunningAgent, steps: str, total: int
) -> None:
    task = await storing.send(steps)
    assert (state_of(task), status_text(task)) == ("completed", "")
    assert sum(len(each.parts[0].text) for each in task.artifacts) == total


async def _fails(agent: RunningAgent, steps: str, text: str) -> None:
    task = await agent.send(steps)
    assert state_of(task) == "failed"
    assert text in status_text(task)
    await _is_closed(agent, task.id, WorkflowExecutionStatus.FAILED)
    await agent.replay()


async def _is_closed(agent: RunningAgent, task_id: str, status: WorkflowExecutionStatus) -> None:
    try:
        await agent.workflow(task_id).result()
    except Exception:
        assert status == WorkflowExecutionStatus.FAILED
    assert (await agent.workflow(task_id).describe()).status == status
