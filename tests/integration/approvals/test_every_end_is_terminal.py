"""However a workflow's code ends, the task ends with it, within seconds, and leaks nothing."""

from typing import Any

import pytest
from a2a.types import Message, Part, Role
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowUpdateFailedError

from a2a_temporal._log.protojson import from_json, to_json
from a2a_temporal.testing import RunningAgent, running_agent, state_of, status_text
from tests.integration.approvals.asking_flows import KINDS, SECRET, Breaks, Returns
from tests.integration.approvals.combined_flows import OwnApprove
from tests.support.waiting import within


async def _leaks_nothing(agent: RunningAgent, task_id: str) -> None:
    task = await agent.user.get(task_id)
    assert SECRET not in str(task)
    assert "ValueError" not in str(task)


@pytest.mark.parametrize("kind", [*KINDS, "result", "nan"])
async def test_an_exception_fails_the_task(skipping: Client, kind: str) -> None:
    async with running_agent(skipping, Breaks, max_cached_workflows=0) as agent:
        task = await agent.send(kind, wait=False)
        task = await agent.until(task, "failed", within=30)
        await _leaks_nothing(agent, task.id)
        assert task.id in status_text(task)
        described = await agent.workflow(task).describe()
        assert described.status == WorkflowExecutionStatus.FAILED
        await agent.replay()


async def test_a_public_error_is_read_by_the_client(skipping: Client) -> None:
    async with running_agent(skipping, Breaks) as agent:
        task = await agent.send("public")
        assert (state_of(task), status_text(task)) == ("failed", "The quota is used up.")


async def test_a_public_error_is_read_as_far_as_it_can_be(skipping: Client) -> None:
    async with running_agent(skipping, Breaks) as agent:
        task = await agent.send("public-no-unicode", wait=False)
        task = await agent.until(task, "failed", within=30)
        assert status_text(task) == "The quota of caf? is used up."


async def test_an_exception_in_a_handler_fails_the_task_even_after_a_replay_beside_it(
    skipping: Client,
) -> None:
    async with running_agent(skipping, Breaks) as agent:
        task = await agent.send("wait", wait=False)
        await agent.told(task, "wait")
        await agent.replay()
        await agent.workflow(task).signal(Breaks.boom)
        await agent.until(task, "failed", within=30)
        await _leaks_nothing(agent, task.id)


@pytest.mark.parametrize("how", ["code", "handler"])
async def test_what_is_raised_after_the_end_changes_nothing(skipping: Client, how: str) -> None:
    async with running_agent(skipping, Breaks) as agent:
        task = await agent.send("complete-then-raise" if how == "code" else "wait", wait=False)
        if how == "handler":
            await agent.workflow(task).signal(Breaks.complete_then_boom)
        await agent.until(task, "completed", within=30)
        assert await agent.workflow(task).result() is None
        await agent.replay()


@pytest.mark.parametrize("update", [Breaks.update, Breaks.update_without_a_text])
async def test_a_failing_update_fails_alone_and_cancel_still_works(
    skipping: Client, update: Any
) -> None:
    async with running_agent(skipping, Breaks) as agent:
        task = await agent.send("wait", wait=False)
        with pytest.raises(WorkflowUpdateFailedError):
            await agent.workflow(task).execute_update(update)
        await agent.workflow(task).cancel()
        await agent.until(task, "canceled", within=30)
        described = await agent.workflow(task).describe()
        assert described.status == WorkflowExecutionStatus.CANCELED


@pytest.mark.parametrize("value", [{"a": [1, {"b": None}]}, [1, 2], 5, True])
async def test_what_a_workflow_returns_is_the_artifact(skipping: Client, value: Any) -> None:
    async with running_agent(skipping, Returns) as agent:
        part = from_json({"data": value}, Part())
        task = await agent.send(Message(role=Role.ROLE_USER, parts=[part]))
        assert state_of(task) == "completed"
        (artifact,) = task.artifacts
        assert [to_json(each) for each in artifact.parts] == [to_json(part)]


async def test_a_workflow_that_takes_the_signals_of_answers_fails_at_once(
    skipping: Client,
) -> None:
    async with running_agent(skipping, OwnApprove) as agent:
        task = await within(20, agent.send("go"), what="the end")
        assert state_of(task) == "failed"
