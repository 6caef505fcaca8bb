"""An activity may publish anywhere and at any time, and its heartbeats stay its own."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from a2a.types import Task
from temporalio import activity
from temporalio.client import Client

from a2a_temporal import Agent
from a2a_temporal.activity import Publisher
from a2a_temporal.testing import running_agent, state_of, status_text
from tests.integration.approvals.written_flows import WRITTEN, RunsOneActivity
from tests.support.in_process import CARD
from tests.support.waiting import within


def agent_of(written: Callable[[], Awaitable[None]]) -> Agent:
    """Return an agent whose workflow runs a test's function as its activity."""
    return Agent(
        card=CARD, workflow=RunsOneActivity, activities=[activity.defn(name=WRITTEN)(written)]
    )


@pytest.mark.parametrize("attempts", [1, 2])
async def test_a_thread_with_its_own_loop_may_be_the_first_to_publish(
    skipping: Client, attempts: int
) -> None:
    async def written() -> None:
        if activity.info().attempt < attempts:
            raise RuntimeError("once more")
        async with Publisher() as task:

            def in_a_thread() -> None:
                asyncio.run(task.add_artifact("from a thread", artifact_id="report"))

            await asyncio.get_running_loop().run_in_executor(None, in_a_thread)
            for _ in range(20):  # steps of the event loop, in which sending begins
                await asyncio.sleep(0)

    async with running_agent(skipping, agent_of(written)) as running:
        done = await within(30, running.send(str(attempts)), what="the end")
        assert state_of(done) == "completed", status_text(done)
        assert texts(done) == ["from a thread"]


def texts(task: Task) -> list[str]:
    """Return what the artifacts of a task say."""
    return [part.text for artifact in task.artifacts for part in artifact.parts]
