"""A task whose history has reached Temporal's limit ends, and everybody learns why."""

from pathlib import Path

import pytest
from a2a.utils.errors import UnsupportedOperationError
from temporalio.client import Client

from a2a_temporal.testing import RunningAgent, running_agent, state_of, status_text
from tests.integration.approvals.full_steps import FullSteps
from tests.support.temporal_server import running_server

_MANY = "; ".join(["ask"] * 20)
_MUCH = "; ".join(["artifact 1000000; ask"] * 20)


@pytest.mark.parametrize(
    ("limit", "steps"), [("historyCount.error=30", _MANY), ("historySize.error=2500000", _MUCH)]
)
async def test_the_task_fails_and_names_the_limit(tmp_path: Path, limit: str, steps: str) -> None:
    low = f"--dynamic-config-value=limit.{limit}"
    async with running_server(tmp_path, arguments=[low]) as temporal:
        client = await Client.connect(temporal.address)
        async with running_agent(client, FullSteps) as agent:
            task_id = (await agent.send(steps)).id
            with pytest.raises(UnsupportedOperationError, match="has ended"):
                await _answer_on(agent, task_id)
            task = await agent.user.get(task_id)
            assert state_of(task) == "failed"
            assert "terminated by Temporal: its history has reached the limit" in status_text(task)


async def _answer_on(agent: RunningAgent, task_id: str) -> None:
    for _ in range(20):
        await agent.send("go on", task=task_id)
