"""Reminders, deadlines and what follows them: expire, reject, approve, escalate."""

from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import Client

from a2a_temporal.testing import RefusedError, running_agent, state_of, status_text
from tests.integration.approvals.approval_flow import PaymentApproval
from tests.integration.approvals.asking_flows import RemindsEveryHour
from tests.support.temporal_server import running_server

DAY = timedelta(days=1)
ADVISES_SHORT_RUNS = [
    "--dynamic-config-value=limit.historyCount.suggestContinueAsNew=100",
    "--dynamic-config-value=frontend.WorkflowTimeSkippingEnabled=true",
    '--dynamic-config-value=history.timerProcessorMaxTimeShift="20ms"',
]
ENDS = [
    ("expire", 1, "failed", "Nobody answered in time: Pay 5 to X?"),
    ("reject", 1, "rejected", "Not paid: timed_out."),
    ("approve", 1, "completed", "paid 5 to X (timed_out)"),
    ("escalate", 2, "failed", "Nobody answered in time: Pay 5 to X?"),
    ("escalate-reject", 2, "rejected", "Not paid: timed_out."),
    ("escalate-twice", 3, "completed", "paid 5 to X (timed_out)"),
]


@pytest.mark.parametrize(("ending", "deadlines", "state", "text"), ENDS)
async def test_silence_ends_as_configured(
    skipping: Client, ending: str, deadlines: int, state: str, text: str
) -> None:
    async with running_agent(skipping, PaymentApproval, max_cached_workflows=0) as agent:
        task = await agent.send(f"group {ending}")
        for _ in range(deadlines):
            assert state_of(task) == "input-required"
            task = await agent.expire(task)
        task = await agent.settled(task)
        said = task.artifacts[0].parts[0].text if task.artifacts else status_text(task)
        assert (state_of(task), said) == (state, text)
        with pytest.raises(RefusedError, match="has ended"):
            await agent.approve(task, by="ann", groups=["finance"])
        shown: WorkflowMetadata = await agent.workflow(task).query(
            "__temporal_workflow_metadata", result_type=WorkflowMetadata
        )
        assert shown.current_details == ""
        await agent.replay()


async def test_reminders_repeat_the_request_and_change_nothing(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("quorum reject")
        await agent.approve(task, by="ann", groups=["finance"])
        asked = await agent.requests(task)
        await agent.skip(task, 1.1 * DAY)
        await agent.told(task, "Reminder: Pay 5 to X?")
        assert await agent.requests(task) == asked
        await agent.approve(task, by="bob", groups=["finance"])
        assert state_of(await agent.settled(task)) == "completed"


async def test_escalation_asks_others_from_the_beginning(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("quorum escalate")
        await agent.approve(task, by="ann", groups=["finance"])
        task = await agent.expire(task)
        (request,) = await agent.requests(task)
        assert (request.approvers, request.quorum, request.records) == (["cfo"], 1, [])
        with pytest.raises(RefusedError, match="cfo may"):
            await agent.approve(task, by="bob", groups=["finance"])
        await agent.approve(task, by="dora", groups=["cfo"])
        task = await agent.settled(task)
        assert task.artifacts[0].parts[0].text == "paid 5 to X (dora)"


async def test_waiting_has_no_limit_where_none_is_set(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("anyone")
        await agent.skip(task, timedelta(days=3000))
        assert state_of(await agent.user.get(task)) == "input-required"
        await agent.approve(task, by="ann")
        assert state_of(await agent.settled(task)) == "completed"


async def test_no_number_of_reminders_makes_the_history_too_long(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, arguments=ADVISES_SHORT_RUNS) as server,
        running_agent(await server.client(), RemindsEveryHour) as agent,
    ):
        task = await agent.send("please")
        await agent.skip(task, 100 * DAY)
        told = (await agent.user.get(task)).history
        assert 10 < len(told) < 40
        await agent.approve(task, by="ann")
        assert state_of(await agent.settled(task)) == "completed"
        await agent.replay()
