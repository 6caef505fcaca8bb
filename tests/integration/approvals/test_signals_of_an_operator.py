"""The Temporal UI and CLI: `approve`, `reject` and `answer` as a person types them."""

import json
from typing import Any

import pytest
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import Client

from a2a_temporal.testing import running_agent, state_of, status_text
from tests.integration.approvals.approval_flow import PaymentApproval

GOOD: list[tuple[str, list[Any], str, str]] = [
    ("approve", [], "completed", ""),
    ("approve", [None], "completed", ""),
    ("approve", [""], "completed", ""),
    ("approve", [{}], "completed", ""),
    ("approve", ["looks right"], "completed", "looks right"),
    ("approve", [{"by": "ann", "comment": "ok", "request": "approval-1"}], "completed", "ok"),
    ("reject", [], "rejected", ""),
    ("reject", [{"by": "ann", "comment": "no"}], "rejected", "no"),
]
BAD: list[tuple[str, list[Any], str]] = [
    ("approve", [{"request": "approval-7"}], "'approval-7' is not waiting"),
    ("approve", [{"by": 7}], "'by' must be a text"),
    ("approve", [7], "takes a JSON object"),
    ("approve", [["approval-1"]], "takes a JSON object"),
    ("approve", ["one", "two"], "takes a JSON object"),
    ("approve", [{"details": {"amount": "much"}}], "amount: Input should be a valid number"),
    ("approve", [{"by": "eve"}], "'eve' may not decide"),
    ("approve", [{"by": "bob", "comment": "x" * 300_000}], "200000 at most are taken"),
    ("approve", [{"by": "bob", "details": {"amount": float("nan")}}], "must be JSON"),
    ("approve", [{"by": "bob", "details": json.loads("[" * 90 + "]" * 90)}], "nested deeper"),
    ("reject", [{"by": "bob", "details": {"much": "x" * 1_000_000}}], "at most are taken"),
    ("answer", ["blue"], "Nothing waits for such an answer"),
    ("approve", [{"by": "bob", "request": "x" * 1_000_000}], "Request 'xxx"),
]


@pytest.mark.parametrize(("signal", "typed", "state", "comment"), GOOD)
async def test_counts(
    skipping: Client, signal: str, typed: list[Any], state: str, comment: str
) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("anyone")
        await agent.workflow(task).signal(signal, args=typed)
        task = await agent.settled(await agent.until(task, state))
        (record,) = await agent.records(task)
        assert (record.channel, record.verified, record.comment) == ("temporal", False, comment)


@pytest.mark.parametrize(("signal", "typed", "why"), BAD)
async def test_changes_nothing_and_says_why(
    skipping: Client, signal: str, typed: list[Any], why: str
) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("named")
        await agent.workflow(task).signal(signal, args=typed)
        await agent.told(task, why)
        assert state_of(await agent.user.get(task)) == "input-required"
        assert await agent.records(task) == []
        await agent.workflow(task).signal("approve", {"by": "bob"})
        assert state_of(await agent.until(task, "completed")) == "completed"


async def test_what_to_send_is_written_on_the_workflow(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("quorum escalate")
        metadata: WorkflowMetadata = await agent.workflow(task).query(
            "__temporal_workflow_metadata", result_type=WorkflowMetadata
        )
        shown = metadata.current_details
        for text in ("Pay 5 to X?", "2 of finance", "`approve`", '"request": "approval-1"'):
            assert text in shown
        assert "Until" in shown


async def test_a_late_signal_changes_nothing(skipping: Client) -> None:
    async with running_agent(skipping, PaymentApproval) as agent:
        task = await agent.send("anyone")
        await agent.approve(task, by="ann")
        task = await agent.settled(task)
        with pytest.raises(Exception, match="already completed"):
            await agent.workflow(task).signal("reject")
        with pytest.raises(Exception, match="has ended"):
            await agent.user.send("reject", task=task)
        assert await agent.user.get(task) == task
        assert status_text(task) == ""
