"""How many messages a workflow with a ``TaskRun`` takes: so many a run, whoever handles them."""

from dataclasses import replace

import pytest
from a2a.types import Task
from a2a.utils.errors import UnsupportedOperationError
from temporalio.client import Client

from a2a_temporal import HandlerOptions
from a2a_temporal.testing import RunningAgent, running_agent, state_of
from tests.integration.approvals.agent_flows import agent_within
from tests.integration.approvals.beside_flows import TakesNotes
from tests.integration.approvals.combined_flows import TalksBesideAgent
from tests.support.in_process import Scripted
from tests.support.waiting import eventually

_MOST = 5


async def _notes(running: RunningAgent, task: Task, number: int) -> None:
    for each in range(number):
        await running.send(f"say:{each}", task=task, wait=False)


async def test_messages_that_an_author_takes_without_a_word_never_wait_for_the_agent(
    skipping: Client,
) -> None:
    options = HandlerOptions(maximum_waiting_messages=2)
    agent = replace(agent_within(TakesNotes), handler_options=options)
    async with running_agent(skipping, agent) as running:
        task = await running.send("say:begun gate", wait=False)

        async def alone() -> bool:
            artifacts = (await running.user.get(task)).artifacts
            return "ready" in [each.artifact_id for each in artifacts]

        await eventually(alone, within=20)
        await _notes(running, task, _MOST)
        assert state_of(await running.send("stop", task=task)) == "completed"
        await running.replay()


async def test_a_run_takes_no_more_than_its_share_of_signals_and_the_next_run_takes_as_many(
    skipping: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("a2a_temporal._server.sending._MESSAGES_A_RUN", _MOST)
    async with running_agent(skipping, agent_within(TakesNotes)) as running:
        task = await running.send("say:begun gate", wait=False)
        await _notes(running, task, _MOST - 1)
        await running.send("anew", task=task, wait=False)

        async def begun_anew() -> bool:
            return (await running.state(task)).start.snapshot is not None

        await eventually(begun_anew, within=20)
        await _notes(running, task, _MOST)
        with pytest.raises(UnsupportedOperationError, match=f"{_MOST} messages"):
            await running.send("one more", task=task, wait=False)


async def test_what_else_a_task_says_makes_no_room_for_messages_to_its_agent(
    skipping: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("a2a_temporal._server.sending._MESSAGES_A_RUN", _MOST)
    scripted = Scripted()
    agent = agent_within(TalksBesideAgent, scripted=scripted)
    async with running_agent(skipping, agent) as running:
        task = await running.send("say:begun gate", wait=False)
        await _notes(running, task, _MOST)
        await running.workflow(task).signal("talk")

        async def talked() -> bool:
            return (await running.state(task)).status_turn > _MOST

        await eventually(talked, within=20)
        with pytest.raises(UnsupportedOperationError, match=f"{_MOST} messages"):
            await running.send("one more", task=task, wait=False)
        scripted.gate.set()
        assert state_of(await running.until(task, "completed")) == "completed"
