"""The production change: four eyes, a window, a rollback when nobody confirms."""

from datetime import datetime, timedelta, timezone

import pytest
from temporalio.client import Client

from a2a_temporal.testing import RefusedError, RunningAgent, running_agent, state_of, status_text
from tests.integration.flows.conftest import Outside
from workflows.change import agent as changes


async def _approved(agent: RunningAgent, sent: str | dict[str, object]) -> str:
    task = await agent.send(sent)
    await agent.approve(task, by="otto", groups=["operations"])
    return task.id


async def test_an_approved_and_confirmed_change_stays(skipping: Client, outside: Outside) -> None:
    async with running_agent(skipping, changes, max_cached_workflows=0) as agent:
        task = await agent.settled(await _approved(agent, "shop 2.4.1 faster search"))
        assert status_text(task).startswith("shop 2.4.1 is live. Is it healthy?")
        assert len(outside.effects("deployment")) == 1
        await agent.approve(task, by="requester", groups=["operations"])
        task = await agent.settled(task)
        assert (state_of(task), status_text(task)) == ("completed", "shop 2.4.1 stays.")
        assert outside.effects("rollback") == []
        await agent.replay()


async def test_a_change_nobody_confirms_is_taken_back(skipping: Client, outside: Outside) -> None:
    async with running_agent(skipping, changes) as agent:
        task = await agent.settled(await _approved(agent, "shop 2.4.1"))
        await agent.expire(task)
        task = await agent.settled(task)
        assert (state_of(task), status_text(task)) == (
            "failed",
            "shop 2.4.1 was taken back: timed_out.",
        )
        assert len(outside.effects("rollback")) == 1
        (log,) = task.artifacts
        assert [part.text for part in log.parts] == [
            "shop 2.4.1 is live\n",
            "shop 2.4.1 was taken back\n",
        ]
        await agent.replay()


async def test_the_change_waits_for_its_window(skipping: Client, outside: Outside) -> None:
    async with running_agent(skipping, changes) as agent:
        asked = await agent.send(
            {"service": "shop", "version": "3", "not_before": "2099-01-01T00:00Z"}
        )
        await agent.approve(asked, by="otto", groups=["operations"])
        task = await agent.until(asked, "working")
        assert "Waiting for the change window at 2099-01-01 00:00" in status_text(task)
        assert outside.effects("deployment") == []
        left = datetime(2099, 1, 1, tzinfo=timezone.utc) - datetime.now(timezone.utc)
        await agent.skip(task, left + timedelta(minutes=1))
        task = await agent.settled(task)
        assert status_text(task).startswith("shop 3 is live.")


async def test_a_name_typed_into_a_signal_does_not_count(
    skipping: Client, outside: Outside
) -> None:
    async with running_agent(skipping, changes) as agent:
        task = await agent.send("shop 2.4.1")
        await agent.workflow(task).signal("approve", {"by": "otto", "as": "operations"})
        await agent.told(task, "takes only answers of people a server has authenticated")
        with pytest.raises(RefusedError, match="four eyes"):
            await agent.approve(task, by="requester", groups=["operations"])
        assert state_of(await agent.user.get(task)) == "input-required"
        assert outside.effects("deployment") == []
