"""Several open requests: each answer names its own; `hitl/v1` decides them in one message."""

from collections.abc import Mapping

import pytest
from a2a.types import Message, Part, Role
from google.protobuf.struct_pb2 import Struct
from temporalio.client import Client

from a2a_temporal._log.hitl import HITL_EXTENSION
from a2a_temporal._log.protojson import from_json, to_json
from a2a_temporal.testing import RefusedError, running_agent, state_of, status_text
from tests.integration.approvals.asking_flows import TwoAtOnce


async def test_each_is_answered_by_name(skipping: Client) -> None:
    async with running_agent(skipping, TwoAtOnce, max_cached_workflows=0) as agent:
        task = await agent.send("go")
        assert [each.id for each in await agent.requests(task)] == [
            "approval-1",
            "approval-2",
            "input-3",
        ]
        for word in ("yes", "approve"):
            answered = await agent.send(word, task=task)
            assert "Several requests are open" in status_text(answered)
        with pytest.raises(RefusedError, match="Several requests are open"):
            await agent.approve(task, by="ann")
        await agent.send("reject approval-2", task=task)
        await agent.told(
            task,
            "One? Reply 'approve approval-1' or 'reject approval-1'. Your name? — "
            "requester rejected: Two?",
        )
        await agent.answer(task, "Rita", request="input-3")
        await agent.told(task, "One? Reply 'approve' or 'reject'. — Thank you.")
        done = await agent.send("approve approval-1", task=task)
        assert done.artifacts[0].parts[0].text == "approved rejected Rita"
        await agent.replay()


async def test_hitl_decides_all_or_none_and_records_each(skipping: Client) -> None:
    async with running_agent(skipping, TwoAtOnce) as agent:
        task = await agent.send("go")
        asked = to_json(task.status.message.metadata)[HITL_EXTENSION]
        assert asked["type"] == "tool_approval_request"
        assert [tool["id"] for tool in asked["tools"]] == ["approval-1", "approval-2"]

        one = {
            "type": "tool_approval_response",
            "approvals": [{"id": "approval-1", "approved": True}],
        }
        answered = await agent.user.send(_reply(one), task=task)
        assert "must name every requested id exactly once" in status_text(answered)
        assert await agent.records(task) == []

        both = {
            "type": "tool_approval_response",
            "approvals": [
                {"id": "approval-1", "approved": True},
                {"id": "approval-2", "approved": False, "rejection_reason": "not that"},
            ],
        }
        answered = await agent.user.send(_reply(both), task=task)
        records = await agent.records(task)
        assert [(r.request, r.decision, r.comment) for r in records] == [
            ("approval-1", "approve", ""),
            ("approval-2", "reject", "not that"),
        ]
        question = to_json(answered.status.message.metadata)[HITL_EXTENSION]
        assert (question["type"], question["id"]) == ("ask_user_request", "input-3")
        answer = {"type": "ask_user_response", "id": "input-3", "answers": [{"answer": ["Rita"]}]}
        answered = await agent.user.send(_reply(answer | {"id": "input-9"}), task=task)
        assert "'input-9' is not waiting for an answer" in status_text(answered)
        done = await agent.user.send(_reply(answer), task=task)
        assert (state_of(done), done.artifacts[0].parts[0].text) == (
            "completed",
            "approved rejected Rita",
        )


def _reply(payload: Mapping[str, object]) -> Message:
    return Message(
        role=Role.ROLE_USER,
        parts=[Part(text="see the metadata")],
        extensions=[HITL_EXTENSION],
        metadata=from_json({HITL_EXTENSION: dict(payload)}, Struct()),
    )
