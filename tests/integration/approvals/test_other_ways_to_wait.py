"""A credential given out of band, runs that follow each other, cancels, questions given up."""

import asyncio
import base64
import re
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from a2a.types import Role, SubscribeToTaskRequest, TaskState
from temporalio.client import Client, WorkflowExecutionStatus

from a2a_temporal import Agent
from a2a_temporal._log.hitl import HITL_EXTENSION
from a2a_temporal._log.requests import APPROVALS_EXTENSION
from a2a_temporal.testing import card_of, running_agent, state_of, status_text
from tests.integration.approvals.approval_flow import PaymentApproval
from tests.integration.approvals.asking_flows import (
    AsksTooLate,
    Counts,
    Diary,
    FirstAnswerWins,
    NeedsCredential,
    Reports,
    TwoAtOnce,
    log_in,
    write_report,
)
from tests.support.waiting import within


async def test_a_credential_out_of_band_goes_on_by_itself_and_is_nowhere_kept(
    skipping: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_VAULT", str(tmp_path))
    needy = Agent(card=card_of(NeedsCredential), workflow=NeedsCredential, activities=[log_in])
    async with running_agent(skipping, needy, max_cached_workflows=0) as agent:
        task = await agent.send("go")
        assert state_of(task) == "auth-required"

        async def watch() -> list[int]:
            stream = agent.user.client.subscribe(SubscribeToTaskRequest(id=task.id))
            return [event.status_update.status.state async for event in stream]

        watching = asyncio.create_task(watch())
        (tmp_path / task.id).write_text("s3cret-credential", encoding="utf-8")
        await agent.workflow(task).signal("answer", {"by": "vault", "request": "auth-1"})
        states = await within(20, watching)
        assert states[-1] == TaskState.TASK_STATE_COMPLETED
        assert TaskState.TASK_STATE_WORKING in states
        done = await agent.user.get(task)
        assert done.artifacts[0].parts[0].text == "out of band, 17 characters"
        history = await agent.workflow(task).fetch_history()
        payloads = re.findall(r'"data": *"([^"]+)"', history.to_json())
        kept = b"".join(base64.b64decode(each) for each in payloads).decode()
        assert "auth-1" in kept
        assert "s3cret" not in kept + history.to_json() + str(done)
        await agent.replay()


async def test_a_message_is_accepted_while_a_credential_is_awaited(skipping: Client) -> None:
    async with running_agent(skipping, NeedsCredential) as agent:
        task = await agent.send("go")
        done = await agent.send("It is in the vault.", task=task)
        assert done.artifacts[0].parts[0].text == "by message"


async def test_a_task_of_several_runs_asks_on_and_remembers(skipping: Client) -> None:
    async with running_agent(skipping, Counts, max_cached_workflows=0) as agent:
        task = await agent.send("go")
        for number in (1, 2, 3):
            await agent.told(task, f"Number {number}?")
            (request,) = await agent.requests(task)
            assert request.id == f"approval-{number}"
            await agent.approve(task, by="ann", request=request.id)
        task = await agent.settled(await agent.until(task, "completed"))
        texts = ["".join(part.text for part in each.parts) for each in task.artifacts]
        assert texts == ["01", "2 before, then approved"]
        assert len(await agent.records(task)) == 3


async def test_a_parked_task_is_canceled_and_leaves_nothing_to_answer(skipping: Client) -> None:
    for workflow in (PaymentApproval, TwoAtOnce, NeedsCredential):
        async with running_agent(skipping, workflow) as agent:
            task = await agent.send("anyone")
            await agent.workflow(task).cancel()
            task = await agent.until(task, "canceled")
            described = await agent.workflow(task).describe()
            assert described.status == WorkflowExecutionStatus.CANCELED
            with pytest.raises(Exception, match="has ended"):
                await agent.send("approve", task=task)
            await agent.replay()


async def test_a_question_the_author_gives_up_is_no_longer_asked(skipping: Client) -> None:
    async with running_agent(skipping, FirstAnswerWins, max_cached_workflows=0) as agent:
        task = await agent.send("go")
        assert state_of(task) == "input-required"
        await agent.skip(task, timedelta(hours=1, minutes=1))
        await agent.told(task, "No longer asked: Colour?")
        task = await agent.user.get(task)
        assert state_of(task) == "working"
        assert await agent.requests(task) == []
        await agent.skip(task, timedelta(hours=1))
        task = await agent.settled(task)
        assert (state_of(task), task.artifacts[0].parts[0].text) == ("completed", "grey")
        await agent.replay()


async def test_an_answer_in_time_is_the_answer(skipping: Client) -> None:
    async with running_agent(skipping, FirstAnswerWins) as agent:
        done = await agent.send("blue", task=await agent.send("go"))
        assert done.artifacts[0].parts[0].text == "blue"
        assert status_text(done) == ""


async def test_what_a_lost_attempt_of_an_activity_published_is_built_anew(
    skipping: Client,
) -> None:
    reports = Agent(card=card_of(Reports), workflow=Reports, activities=[write_report])
    async with running_agent(skipping, reports) as agent:
        task = await agent.send("go")
        assert state_of(task) == "completed"
        (report,) = task.artifacts
        assert "".join(part.text for part in report.parts) == "0;1;2;3;4;5;"
        (progress,) = [each for each in task.history if each.role == Role.ROLE_AGENT]
        assert uuid.UUID(progress.message_id), "no other message has its id"
        await agent.replay()


@pytest.mark.parametrize("cached", [0, 1000])
async def test_no_message_is_lost_where_one_run_follows_another(
    skipping: Client, cached: int
) -> None:
    async with running_agent(skipping, Diary, max_cached_workflows=cached) as agent:
        task = await agent.send("begin", wait=False)
        for number in range(12):
            await agent.send(str(number), task=task, wait=False)
        done = await agent.send("stop", task=task)
        written = "".join(part.text for part in done.artifacts[0].parts)
        assert written == "".join(f"{number};" for number in range(12)) + "stop;"
        assert state_of(done) == "completed"


async def test_asking_after_the_end_closes_the_workflow(skipping: Client) -> None:
    async with running_agent(skipping, AsksTooLate) as agent:
        task = await agent.send("go")
        assert (state_of(task), status_text(task)) == ("completed", "done")
        await within(10, agent.workflow(task).result())


async def test_the_card_declares_how_people_are_asked(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        declared = {each.uri for each in agent.handler.agent_card.capabilities.extensions}
        assert {APPROVALS_EXTENSION, HITL_EXTENSION} <= declared
