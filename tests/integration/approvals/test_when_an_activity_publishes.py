"""An activity may publish anywhere and at any time, and its heartbeats stay its own."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from a2a.types import Task
from temporalio import activity
from temporalio.client import Client

from a2a_temporal import Agent
from a2a_temporal.activity import Publisher
from a2a_temporal.testing import running_agent, state_of, status_text
from tests.integration.approvals.one_activity_flow import WRITTEN, RunsOneActivity
from tests.support.in_process import CARD
from tests.support.resets import reset_activity_in_back_off
from tests.support.temporal_server import TemporalServer, running_server
from tests.support.waiting import eventually, within


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


async def test_a_later_attempt_that_publishes_rides_out_an_outage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    attempts: list[int] = []
    ended: list[BaseException] = []
    outage = asyncio.Event()

    async def written() -> None:
        attempts.append(activity.info().attempt)
        try:
            async with Publisher() as task:
                if len(attempts) > 1:
                    await outage.wait()
                await task.add_artifact(f"attempt {len(attempts)}", artifact_id="report")
        except BaseException as error:
            ended.append(error)
            raise
        if len(attempts) == 1:
            raise RuntimeError("once more")

    def has_tried() -> bool:
        return bool(ended) or any("Temporal" in text for text in caplog.messages)

    async with running_server(tmp_path) as server:
        client = await server.client()
        async with running_agent(client, agent_of(written)) as running:
            task = await running.send("2", wait=False)
            await eventually(lambda: len(attempts) == 2, within=20, what="the second attempt")
            server.process.kill()
            caplog.clear()
            outage.set()
            await eventually(has_tried, within=60, what="a word about the outage")
            await server.start()
            done = await running.until(task, "completed", "failed", within=60)
    assert ended == []
    assert state_of(done) == "completed", status_text(done)
    assert texts(done) == ["attempt 2"]


async def test_publishing_leaves_the_heartbeats_of_the_author_alone(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    given: list[list[Any]] = []
    kept: list[list[Any]] = []

    async def written() -> None:
        given.append(list(activity.info().heartbeat_details))
        again = len(given) == 3  # after the reset, where the second attempt was
        async with Publisher() as task:
            activity.heartbeat(57 if again else 40)
            if again:
                await eventually(lambda: heartbeat_is(client, [57]), within=20)
            await task.add_artifact(f"attempt {len(given)}", artifact_id="report")
        if not again:
            raise RuntimeError("once more")
        kept.append(await heartbeat_of(client))

    async with running_agent(client, agent_of(written)) as running:
        task = await running.send("5", wait=False)
        await reset_activity_in_back_off(client, task.id, attempt=3)
        done = await running.until(task, "completed", within=30)
        assert (given, kept) == ([[], [40], [40]], [[57]])
        assert texts(done) == ["attempt 3"]


async def test_a_later_attempt_counts_on_and_keeps_its_pace(skipping: Client) -> None:
    async def written() -> None:
        for number in range(3):
            async with Publisher() as task:
                await task.add_artifact(str(number), artifact_id="report", append=number > 0)
        if activity.info().attempt < 3:
            raise RuntimeError("once more")

    async with running_agent(skipping, agent_of(written)) as running:
        done = await within(30, running.send("3"), what="the end")
        assert texts(done) == ["0", "1", "2"]
        (source,) = (await running.state(done)).sources.values()
        assert (source.attempt, source.sequence) == (3, 9)


async def heartbeat_is(client: Client, details: list[Any]) -> bool:
    """Say whether the details are those that Temporal has of the calling activity."""
    return await heartbeat_of(client) == details


async def heartbeat_of(client: Client) -> list[Any]:
    """Return the details that Temporal has of the calling activity."""
    info = activity.info()
    workflow = client.get_workflow_handle(str(info.workflow_id), run_id=info.workflow_run_id)
    (pending,) = (await workflow.describe()).raw_description.pending_activities
    return await client.data_converter.decode(pending.heartbeat_details.payloads)


def texts(task: Task) -> list[str]:
    """Return what the artifacts of a task say."""
    return [part.text for artifact in task.artifacts for part in artifact.parts]
