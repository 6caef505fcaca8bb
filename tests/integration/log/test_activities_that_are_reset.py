"""An operator resets an activity, whose attempts Temporal then counts anew: the last one counts."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Part, Task, TaskState
from temporalio.client import Client

from a2a_temporal import Agent, AgentOptions
from a2a_temporal._log.state import LogState
from a2a_temporal._worker.agent.activity import AgentActivities
from a2a_temporal.activity import current_turn
from a2a_temporal.errors import RetryableError
from a2a_temporal.testing import running_agent
from tests.integration.approvals.publishing_flows import Reports, report
from tests.support.in_process import (
    CARD,
    Scripted,
    Served,
    Turn,
    Written,
    agent_worker,
    new_task_queue,
    running,
    served,
    updater_of,
)
from tests.support.resets import reset_activity_in_back_off
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, steadily, within

IMPATIENT = AgentOptions(
    heartbeat_interval=timedelta(seconds=0.5),
    heartbeat_timeout=timedelta(seconds=2),
    retry_interval=timedelta(seconds=0.1),
)


class Counting(Scripted):
    """Notes which attempts it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[int] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.given.append(current_turn().attempt)
        await super().execute(context, event_queue)


@pytest.mark.parametrize("attempts", [3, 4])
async def test_the_last_attempt_at_a_turn_counts_after_a_reset(
    temporal: TemporalServer, attempts: int
) -> None:
    client = await temporal.client()
    given: list[int] = []

    async def turn(context: RequestContext, events: EventQueue) -> None:
        given.append(current_turn().attempt)
        await _write(context, events, f"{len(given)}: half")
        if len(given) < attempts:
            raise RetryableError("once more")
        await _write(context, events, " whole", append=True)

    async with running(client, Written(turn)) as agent:
        task_id = await agent.start("go")
        await reset_activity_in_back_off(client, task_id, attempt=3)
        task = await eventually(lambda: _completed(agent, task_id), within=30)
        assert _texts(task) == [f"{attempts}: half", " whole"]
        assert given == [*range(1, attempts + 1)]


async def test_a_turn_that_is_handed_over_counts_on_where_fewer_attempts_are_made(
    temporal: TemporalServer,
) -> None:
    client, queue = await temporal.client(), new_task_queue()
    given: list[int] = []
    go_on = asyncio.Event()

    async def turn(context: RequestContext, events: EventQueue) -> None:
        given.append(current_turn().attempt)
        await _write(context, events, f"{len(given)}: half")
        await go_on.wait()
        await _write(context, events, " whole", append=True)

    async with served(client, queue) as agent:
        task_id = await agent.start("go")
        for number, maximum_attempts in enumerate([3, 3, 1], start=1):
            options = AgentOptions(maximum_attempts=maximum_attempts)
            async with _deployed(client, queue, turn, options):
                begun = [f"{number}: half"]
                await eventually(lambda text=begun: _reads(agent, task_id, text), within=20)
        go_on.set()
        async with _deployed(client, queue, turn, AgentOptions(maximum_attempts=1)):
            task = await eventually(lambda: _completed(agent, task_id), within=30)
        assert _texts(task) == ["4: half", " whole"]
        assert given == sorted(set(given))


@pytest.mark.parametrize("attempts", [3, 4])
async def test_the_last_attempt_at_an_activity_that_publishes_counts_after_a_reset(
    temporal: TemporalServer, attempts: int
) -> None:
    client = await temporal.client()
    agent = Agent(card=CARD, workflow=Reports, activities=[report])
    async with running_agent(client, agent) as running:
        task = await running.send(str(attempts), wait=False)
        await reset_activity_in_back_off(client, task.id, attempt=3)
        done = await running.until(task, "completed", within=30)
        assert _texts(done) == [f"{attempts}: half", " whole"]


async def test_an_attempt_that_was_given_up_before_it_began_silences_no_other(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, queue, scripted = await temporal.client(), new_task_queue(), Counting()
    read, frozen, late = vars(AgentActivities)["_read"], asyncio.Event(), asyncio.Event()
    begun: list[str] = []

    async def read_slowly(self: AgentActivities, task_id: str) -> LogState:
        begun.append(task_id)
        if len(begun) > 1:
            return await read(self, task_id)
        with contextlib.suppress(asyncio.CancelledError):  # Temporal takes the worker for lost
            await frozen.wait()
        await frozen.wait()
        log = await read(self, task_id)
        late.set()
        return log

    async with (
        agent_worker(client, queue, agent=scripted, options=IMPATIENT),
        served(client, queue) as agent,
    ):
        task_id = (await agent.send("ask")).id
        monkeypatch.setattr(AgentActivities, "_read", read_slowly)
        await agent.send("chunks:1 gate chunks:1", task_id=task_id, wait=False)
        await eventually(lambda: _reads(agent, task_id, ["2.0 "]), within=20)
        frozen.set()
        await within(20, late.wait(), what="the late attempt")
        await steadily(lambda: _still_reads(agent, task_id, ["2.0 "]), during=1)
        scripted.gate.set()
        task = await eventually(lambda: _completed(agent, task_id), within=20)
        assert _texts(task) == ["2.0 ", "2.0 "]
        assert scripted.given == [1, 2]


@asynccontextmanager
async def _deployed(
    client: Client, queue: str, turn: Turn, options: AgentOptions
) -> AsyncGenerator[None]:
    async with agent_worker(client, queue, agent=Written(turn), options=options):
        yield


async def _write(
    context: RequestContext, events: EventQueue, text: str, *, append: bool = False
) -> None:
    await updater_of(context, events).add_artifact(
        [Part(text=text)], artifact_id="report", append=append
    )


async def _still_reads(agent: Served, task_id: str, texts: list[str]) -> None:
    assert await _reads(agent, task_id, texts)


async def _reads(agent: Served, task_id: str, texts: list[str]) -> bool:
    return _texts(await agent.get(task_id)) == texts


async def _completed(agent: Served, task_id: str) -> Task | None:
    task = await agent.get(task_id)
    return task if task.status.state == TaskState.TASK_STATE_COMPLETED else None


def _texts(task: Task) -> list[str]:
    return [part.text for each in task.artifacts for part in each.parts]
