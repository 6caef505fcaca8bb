"""Storms of messages, chunks, cancels and stray signals: workflow and readers see one order."""

import asyncio
import contextlib
import random
from typing import Any

import pytest
from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError
from temporalio.client import Client, WorkflowHistory
from temporalio.service import RPCError
from temporalio.worker import Replayer

from a2a_temporal import A2APlugin, AgentOptions
from a2a_temporal._log.protojson import to_json
from a2a_temporal._log.wire import MESSAGE_SIGNAL, TASK_QUERY
from a2a_temporal._reading.reader import read_log
from tests.support.in_process import Scripted, Served, running
from tests.support.logs import first_run, prefixes
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

TASKS = 5
SENDERS = 3

SCRIPTS = (
    "say:a chunks:6 say:b",
    "chunks:3 pause:0.05 chunks:3",
    "say:a say:b say:c",
    "chunks:2 ask",
    "auth chunks:2",
    "chunks:4 flaky chunks:4",
    "pause:0.1",
)
STRAY: tuple[Any, ...] = (None, 7, "text", {}, {"message": {"messageId": 3}}, [{"events": []}])

FAST_RETRY = AgentOptions(continue_as_new_after=60)


@pytest.mark.parametrize("cached", [True, False], ids=["cached", "uncached"])
async def test_a_storm_leaves_the_workflow_and_its_readers_with_one_task(
    temporal: TemporalServer, cached: bool
) -> None:
    client = await temporal.client()
    async with running(client, options=FAST_RETRY, cached=cached) as agent:
        storms = (_storm(client, agent, random.Random(seed)) for seed in range(TASKS))
        answers = await within(120, asyncio.gather(*storms), what="the storms")
        for task_id, asked in answers:
            # Without a cache a query replays the history and runs on from there, ahead of the
            # workflow task that decides: only its answer after the end is settled.
            await _check_agreement(client, task_id, asked if cached else asked[-1:])
    for task_id, _ in answers:
        await _check_replay(client, task_id)


async def _storm(
    client: Client, agent: Served, luck: random.Random
) -> tuple[str, list[dict[str, Any]]]:
    """Drive one task to its end, and return what its workflow answered on the way."""
    task_id = await agent.start(f"pause:0.3 {luck.choice(SCRIPTS)}")
    asked: list[dict[str, Any]] = []
    asking = asyncio.create_task(_ask_again_and_again(client, task_id, asked))
    await asyncio.gather(*(_send_some(client, agent, task_id, luck) for _ in range(SENDERS)))
    if luck.random() < 0.5:
        await _cancel(agent, task_id)

    async def ended() -> bool:
        state = await read_log(client, task_id)
        if state.interrupted and state.turn_over:
            await _cancel(agent, task_id)
        return state.terminal

    await eventually(ended, within=60, what=f"the end of {task_id}", every=0.2)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    asked.append(await client.get_workflow_handle(task_id).query(TASK_QUERY))
    return task_id, asked


async def _send_some(client: Client, agent: Served, task_id: str, luck: random.Random) -> None:
    for _ in range(luck.randint(2, 4)):
        with contextlib.suppress(UnsupportedOperationError, RPCError):  # the task may have ended
            await agent.send(luck.choice(SCRIPTS), task_id=task_id, wait=False)
            if luck.random() < 0.5:
                workflow = client.get_workflow_handle(task_id)
                await workflow.signal(MESSAGE_SIGNAL, args=[luck.choice(STRAY), "and more"])
        await asyncio.sleep(luck.random() * 0.05)


async def _cancel(agent: Served, task_id: str) -> None:
    with contextlib.suppress(TaskNotCancelableError):  # it may have ended
        await agent.cancel(task_id)


async def _ask_again_and_again(client: Client, task_id: str, asked: list[dict[str, Any]]) -> None:
    workflow = client.get_workflow_handle(task_id)
    while True:
        try:
            asked.append(await workflow.query(TASK_QUERY))
        except RPCError:
            await asyncio.sleep(0.1)


async def _check_agreement(client: Client, task_id: str, asked: list[dict[str, Any]]) -> None:
    """Every answer of the workflow is the fold of a prefix of the log, and none goes back."""
    log = await prefixes(client, task_id)
    position = 0
    for answer in asked:
        later = log[position:]
        assert answer in later, f"the workflow of {task_id} said what no reader sees: {answer}"
        position += later.index(answer)
    assert asked[-1] == log[-1] == to_json((await read_log(client, task_id)).task)


async def _check_replay(client: Client, task_id: str) -> None:
    replayer = Replayer(workflows=[], plugins=[A2APlugin(agent_executor=Scripted())])
    run_id = await first_run(client, task_id)
    history: WorkflowHistory = await client.get_workflow_handle(
        task_id, run_id=run_id
    ).fetch_history()
    await replayer.replay_workflow(history)
    await replayer.replay_workflow(await client.get_workflow_handle(task_id).fetch_history())
