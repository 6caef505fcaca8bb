"""A task that the server's owner begins, no client request in flight, is a task like any other."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
)
from temporalio.client import Client

from a2a_temporal import Agent, start_task
from a2a_temporal.testing import RunningAgent, running_agent, state_of
from tests.support.in_process import CARD, Scripted
from tests.support.processes import Process
from tests.support.temporal_server import TemporalServer
from tests.support.typescript import installed
from tests.support.waiting import eventually

AGENT = Agent(card=CARD, executor=Scripted())


@pytest.fixture
async def running(temporal: TemporalServer) -> AsyncIterator[RunningAgent]:
    client = await Client.connect(temporal.address)
    async with running_agent(client, AGENT, user="ann") as running:
        yield running


async def _listed(running: RunningAgent, task_id: str, user: str = "ann") -> Task:
    async def look() -> Task | None:
        page = await running.as_user(user).client.list_tasks(ListTasksRequest())
        return next((each for each in page.tasks if each.id == task_id), None)

    return await eventually(look, within=30, what=f"{task_id} in the list of {user!r}")


async def test_its_owner_lists_reads_answers_and_cancels_it(running: RunningAgent) -> None:
    first = await running.handler.start_task("ask:colour?", owner="ann", context_id="nightly")
    assert state_of(first) == "submitted"
    assert (await _listed(running, first.id)).context_id == "nightly"
    await running.until(first, "input-required")
    assert (await running.user.get(first)).history[0].parts[0].text == "ask:colour?"
    assert state_of(await running.send("blue", task=first)) == "completed"

    second = await running.handler.start_task("ask:colour?", owner="ann")
    await running.until(second, "input-required")
    canceled = await running.user.client.cancel_task(CancelTaskRequest(id=second.id))
    assert state_of(canceled) == "canceled"


async def test_nobody_else_sees_it(running: RunningAgent) -> None:
    task = await running.handler.start_task("say:hello", owner="ann")
    for other in ("bob", ""):
        with pytest.raises(TaskNotFoundError):
            await running.as_user(other).client.get_task(GetTaskRequest(id=task.id))


async def test_the_same_message_begins_one_task(running: RunningAgent) -> None:
    event = Message(message_id="webhook-17", parts=[Part(text="say:paid")])
    first, again = await asyncio.gather(
        *(running.handler.start_task(event, owner="ann") for _ in range(2))
    )
    assert first.id == again.id
    other = Message(message_id="webhook-17", parts=[Part(text="say:refunded")])
    with pytest.raises(InvalidParamsError, match="another content"):
        await running.handler.start_task(other, owner="ann")


async def test_a_client_repeats_it_and_gets_the_same_task(running: RunningAgent) -> None:
    event = Message(message_id="webhook-18", parts=[Part(text="say:paid")])
    task = await running.handler.start_task(event, owner="ann")
    sent = await running.user.send("say:paid", message_id="webhook-18")
    assert sent.id == task.id


async def test_a_process_that_does_not_serve_the_agent_begins_one(running: RunningAgent) -> None:
    task = await start_task(
        running.temporal,
        AGENT,
        "say:hello",
        task_queue=running.task_queue,
        owner="ann",
        task_id="nightly-2026-12-01",
    )
    assert task.id == "nightly-2026-12-01"
    await running.until(task, "completed")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Message(), "no parts"),
        (Message(parts=[Part()]), r"parts\[0\] is empty"),
        (Message(parts=[Part(text="x")], task_id="a/b"), "cannot name a new task"),
    ],
)
async def test_what_cannot_begin_a_task_is_refused(
    running: RunningAgent, message: Message, text: str
) -> None:
    with pytest.raises(InvalidParamsError, match=text):
        await running.handler.start_task(message)


@pytest.mark.parametrize(
    ("message", "arguments", "error"),
    [
        (None, {}, TypeError),
        (b"x", {}, TypeError),
        ("x", {"owner": None}, TypeError),
        ("x", {"tenant": 3}, TypeError),
        ("x", {"owner": "\ud800"}, InvalidParamsError),
        ("\ud800", {}, InvalidParamsError),
    ],
)
async def test_an_argument_of_a_wrong_kind_is_named(
    running: RunningAgent, message: Any, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"message|owner|tenant"):
        await running.handler.start_task(message, **arguments)


async def test_a_receiver_needs_a_card_that_declares_push(running: RunningAgent) -> None:
    config = TaskPushNotificationConfig(url="https://hooks.example.com")
    with pytest.raises(PushNotificationNotSupportedError):
        await running.handler.start_task("say:x", push_config=config)


@pytest.mark.parametrize("owner", ["ann", ""])
async def test_a_start_written_in_typescript_by_the_documents_is_listed(
    running: RunningAgent, temporal: TemporalServer, owner: str, tmp_path: Path
) -> None:
    sources = await installed()
    await running.handler.start()
    starter = Process(
        "typescript-start",
        ["node", str(sources / "start.mjs")],
        env={
            "TEMPORAL_ADDRESS": temporal.address,
            "TASK_QUEUE": running.task_queue,
            "AGENT": CARD.name,
            "OWNER": owner,
            "TEXT": "say:hello",
        },
        log=tmp_path / "start.log",
    )
    starter.start()
    assert await starter.exited(within=60) == 0, starter.output()
    task_id = starter.output().split()[-1]
    assert state_of(await running.until(task_id, "completed")) == "completed"
    await _listed(running, task_id, user=owner)
