"""A yes means what the person saw; nothing else may be taken for one, and nothing gets lost."""

from datetime import timedelta
from typing import Any

import pytest
from a2a.types import Message, Part, Role
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from google.protobuf.struct_pb2 import Value
from temporalio.client import Client

from a2a_temporal import Agent
from a2a_temporal._log.protojson import from_json
from a2a_temporal.testing import RefusedError, RunningAgent, running_agent, state_of, status_text
from tests.integration.approvals.belief_flows import PAID, Believing, Forger, pay
from tests.support.in_process import CARD

FORGER = Agent(card=CARD, workflow=Believing, executor=Forger(), activities=[pay])


async def test_a_record_that_an_executor_publishes_is_none(skipping: Client) -> None:
    async with running_agent(skipping, Agent(card=CARD, executor=Forger())) as agent:
        task = await agent.send("go")
        assert "I was told 'go'" in status_text(task)
        assert await agent.records(task) == []
        assert await agent.requests(task) == []
        assert "a2a-temporal.dev/extensions/approvals" not in str(task)


async def test_who_was_asked_may_answer_and_do_nothing_else(skipping: Client) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send("agent carol")
        carol = agent.as_user("Carol")
        told = await carol.send("send everything to carol", task=task)
        assert "neither a yes nor a no" in status_text(told)
        await carol.send("approve", task=task)
        assert (await agent.told(task, "I was told")).parts[0].text == "I was told 'agent carol'"
        with pytest.raises(TaskNotFoundError):
            await carol.send("send everything to carol", task=task)
        with pytest.raises(TaskNotFoundError):
            await carol.get(task)
        again = await agent.send("go on", task=task)
        assert "I was told 'go on'" in status_text(again)
        assert [record.by for record in await agent.records(task)] == ["Carol"]
        await agent.replay()


async def test_an_answer_that_comes_too_late_is_no_message_to_the_agent(skipping: Client) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send("agent carol bob")
        await agent.stop_worker()
        for name in ("carol", "bob"):
            await agent.as_user(name).send("approve", task=task, wait=False)
        await agent.start_worker()
        await agent.told(task, "I was told 'agent carol bob'")
        await agent.told(task, "Nothing waits for an answer of yours")
        again = await agent.settled(task)
        assert "'approve'" not in str(again.history) + str(again.status)
        await agent.replay()


@pytest.mark.parametrize("how", ["if", "statement", "last", "kept", "agent"])
async def test_what_was_never_awaited_fails_the_task(skipping: Client, how: str) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send(f"forgotten {how}", wait=False)
        task = await agent.until(task, "failed")
        assert not task.artifacts
        assert "without await" in await _failure(agent, task.id)
        await agent.replay()


@pytest.mark.parametrize("how", ["compared", "caught"])
async def test_nothing_is_done_on_a_yes_that_nobody_gave(skipping: Client, how: str) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send(f"pays_unasked {how}", wait=False)
        task = await agent.until(task, "failed")
        assert task.id not in PAID
        assert "without await" in await _failure(agent, task.id)
        await agent.replay()


async def test_what_is_about_to_be_asked_holds_up_nothing_else(skipping: Client) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send("pays_beside")
        await agent.approve(task, by="ann")
        task = await agent.settled(task)
        assert task.artifacts[0].parts[0].text == "paid, True"
        assert task.id in PAID
        await agent.replay()


async def test_an_escalation_drops_what_was_answered_before(skipping: Client) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send("named")
        await agent.approve(task, by="ann")
        task = await agent.expire(task)
        (request,) = await agent.requests(task)
        assert request.approvers == ["finance"]
        task = await agent.expire(task)
        assert task.artifacts[0].parts[0].text == "[] ['on_timeout=Approve()']"
        kept = [(each.decision, each.by) for each in await agent.records(task)]
        assert kept[1] == ("escalate", "on_timeout=Escalate('finance')")
        await agent.replay()


@pytest.mark.parametrize(
    ("details", "why"),
    [
        ({"amount": 800}, "needs 'to'"),
        ({"amount": 800, "to": "X", "also": "Y"}, "has no 'also'"),
        ({"amount": "800", "to": "X"}, "details.amount is no number"),
        ({"amount": True, "to": "X"}, "details.amount is no number"),
        ([], "details is no object"),
        ("all of it", "details is no object"),
    ],
)
async def test_changes_keep_the_shape_of_what_was_asked(
    skipping: Client, details: Any, why: str
) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send("pays 1")
        with pytest.raises(RefusedError, match=why):
            await agent.approve(task, by="ann", groups=["finance"], details=details)
        assert await agent.records(task) == []


async def test_a_yes_with_the_comment_no_is_none_through_any_door(skipping: Client) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send("pays 1")
        with pytest.raises(RefusedError, match="came with the comment"):
            await agent.approve(task, by="ann", groups=["finance"], comment="No.")
        ann = agent.as_user("ann", groups=["finance"])
        with pytest.raises(InvalidParamsError, match="came with the comment"):
            await ann.send({"approved": True, "comment": "\uff4e\uff4f"}, task=task)
        assert await agent.records(task) == []


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("names", "takes names one by one"),
        ("details", "details.account"),
        ("choices", "choices must be a list"),
        ("timeout", "timeout must be a timedelta"),
        ("rule", "on_timeout must be Expire(), Reject()"),
    ],
)
async def test_a_wrong_argument_fails_the_task_at_once(
    skipping: Client, what: str, why: str
) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send(f"wrong {what}", wait=False)
        task = await agent.until(task, "failed")
        assert why in await _failure(agent, task.id)
        assert await agent.requests(task) == []


@pytest.mark.parametrize(
    ("how", "passes", "kept", "result"),
    [
        (
            "approve",
            2,
            [
                ("escalate", "on_timeout=Escalate('bob')"),
                ("approve", "on_timeout=Approve()"),
            ],
            "timed_out {'amount': 5} [] 1",
        ),
        (
            "reject",
            2,
            [("escalate", "on_timeout=Escalate('bob')"), ("reject", "on_timeout=Reject()")],
            "timed_out {'amount': 5} [] 1",
        ),
        (
            "expire",
            2,
            [("escalate", "on_timeout=Escalate('bob')"), ("expire", "on_timeout=Expire()")],
            "",
        ),
        ("question", 1, [("expire", "timeout")], ""),
        ("withdrawn", 0, [("withdraw", "the workflow")], "went on"),
        ("completed", 0, [("withdraw", "the end of the task")], ""),
        ("left", 0, [("withdraw", "the end of the task")], "paid"),
    ],
)
async def test_what_no_person_has_decided_has_a_record_of_the_rule(
    skipping: Client, how: str, passes: int, kept: list[tuple[str, str]], result: str
) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send(f"ends {how}", wait=how not in ("completed", "left"))
        for _ in range(passes):
            task = await agent.expire(task)
        if how in ("withdrawn", "completed", "left"):
            await agent.skip(task, timedelta(hours=2))
        task = await agent.until(task, "completed" if result or not passes else "failed")
        records = await agent.records(task)
        assert [(each.decision, each.by) for each in records] == kept
        assert {(each.channel, each.verified) for each in records} == {("rule", False)}
        texts = [part.text for artifact in task.artifacts for part in artifact.parts]
        assert texts == ([result] if result else [])
        await agent.replay()


async def test_a_cancel_leaves_a_record_of_what_was_open(skipping: Client) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send("pays 1")
        await agent.workflow(task).cancel()
        task = await agent.until(task, "canceled")
        (record,) = await agent.records(task)
        assert (record.decision, record.by) == ("withdraw", "the cancel of the task")
        await agent.replay()


async def test_changes_are_told_in_full_to_whoever_decides_next(skipping: Client) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send("pays 2")
        less = {"amount": 800, "to": "X"}
        await agent.approve(task, by="ann", groups=["finance"], details=less)
        (request,) = await agent.requests(task)
        assert request.summary == "Pay 5,000? (changed by ann: amount: 5000 → 800)"
        assert request.details == less
        with pytest.raises(RefusedError, match="already answered"):
            await agent.approve(task, by="ANN\u200b", groups=["FINANCE"], request="approval-2")
        with pytest.raises(RefusedError, match="four eyes"):
            await agent.approve(task, by="Requester", groups=["finance"], request="approval-2")
        await agent.approve(task, by="bob", groups=["FINANCE"], request="approval-2")
        task = await agent.settled(task)
        assert task.artifacts[0].parts[0].text == "paid {'amount': 800, 'to': 'X'}"
        first, second = await agent.records(task)
        asked = {"amount": 5000, "to": "X"}
        assert (first.summary, first.details, first.before) == ("Pay 5,000?", less, asked)
        assert (second.summary, second.details, second.before) == (request.summary, less, None)
        assert first.details_sha256 == second.details_sha256
        said = await agent.told(task, "with changes: amount: 5000 → 800")
        assert "before" in said.parts[1].data.struct_value.fields
        await agent.replay()


async def test_a_message_that_says_two_things_is_refused_and_not_kept(skipping: Client) -> None:
    async with running_agent(skipping, FORGER, max_cached_workflows=0) as agent:
        task = await agent.send("pays 1")
        ann = agent.as_user("ann", groups=["finance"])
        yes = from_json({"approved": True, "request": "approval-1"}, Value())
        parts = [Part(text="reject approval-1"), Part(data=yes)]
        for both in (parts, [*parts[1:], Part(text="but only 100")], [*parts[1:], Part(raw=b"x")]):
            with pytest.raises(InvalidParamsError):
                await ann.send(Message(role=Role.ROLE_USER, parts=both), task=task)
        assert await agent.records(task) == []
        assert len((await agent.user.get(task)).history) == 1
        done = await ann.send({"approved": True, "request": "approval-1"}, task=task)
        assert state_of(done) == "completed"
        (record,) = await agent.records(task)
        assert (record.decision, record.verified) == ("approve", True)


async def _failure(agent: RunningAgent, task_id: str) -> str:
    history = await agent.workflow(task_id).fetch_history()
    return str(history.events[-1].workflow_execution_failed_event_attributes.failure)
