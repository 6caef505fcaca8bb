"""A stream begins with what GetTask says, also where the log has not been read for a while."""

import asyncio
import time

import pytest
from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.types.a2a_pb2 import SubscribeToTaskRequest, Task, TaskStatusUpdateEvent
from google.protobuf.json_format import MessageToDict
from temporalio.client import Client

from a2a_temporal import AgentOptions, HandlerOptions
from a2a_temporal._log.state import LogState
from a2a_temporal._server.caller import Caller
from a2a_temporal._server.resume import CURSOR_PARAMETER, URI
from a2a_temporal._server.tasks import Tasks
from tests.support.in_process import agent_worker, new_task_queue, served
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within


async def test_an_idle_log_is_read_on_before_it_is_shown(temporal: TemporalServer) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    one_poll = HandlerOptions(long_polls=1)
    async with (
        agent_worker(client, queue),
        served(client, queue, one_poll) as here,
        served(client, queue) as there,
    ):
        first, second = await here.send("ask"), await here.send("ask")
        streams = [here.subscribe(task.id) for task in (first, second)]
        for stream in streams:
            await anext(stream)
        for turn in range(5):
            # The feed of the first task is idle now: the second one has the only poll.
            await there.send(f"chunks:2 ask:again-{turn}", task_id=first.id)
            known = await there.get(first.id)
            late = here.subscribe(first.id)
            begins = await anext(late)
            assert isinstance(begins, Task)
            assert begins == known
            await late.aclose()
            other = here.subscribe(second.id)
            await anext(other)
            await other.aclose()
        for stream in streams:
            await stream.aclose()


async def test_an_idle_log_repeats_nothing_of_what_a_cursor_has_seen(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    one_poll = HandlerOptions(long_polls=1)
    async with (
        agent_worker(client, queue),
        served(client, queue, one_poll) as here,
        served(client, queue) as there,
    ):
        first, second = await here.send("ask"), await here.send("ask")
        streams = [here.subscribe(task.id) for task in (first, second)]
        for stream in streams:
            await anext(stream)
        # All of this goes by the feed of the first task: the second one has the only poll.
        await there.send("chunks:4 ask:more?", task_id=first.id)
        seen = there.handler.on_subscribe_to_task(SubscribeToTaskRequest(id=first.id), _resumed())
        cursor = _cursor(await anext(seen))
        await seen.aclose()

        rest = here.handler.on_subscribe_to_task(
            SubscribeToTaskRequest(id=first.id), _resumed(cursor)
        )
        following = asyncio.ensure_future(anext(rest))
        done, _ = await asyncio.wait({following}, timeout=3)
        assert not done, f"came again: {following.result()}"
        await there.send("say:on", task_id=first.id)
        answered, event = await within(15, following), await within(15, anext(rest))
        assert isinstance(answered, TaskStatusUpdateEvent)
        assert not answered.status.HasField("message")
        assert isinstance(event, TaskStatusUpdateEvent)
        assert "on" in str(event.status.message)
        await rest.aclose()
        for stream in streams:
            await stream.aclose()


def _resumed(cursor: str = "") -> ServerCallContext:
    headers = {CURSOR_PARAMETER: cursor} if cursor else {}
    return ServerCallContext(state={"headers": headers}, requested_extensions={URI})


def _cursor(event: Event) -> str:
    assert isinstance(event, Task)
    return str(MessageToDict(event.metadata)[URI]["cursor"])


async def test_a_switch_between_two_readings_holds_nobody_up(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    short = AgentOptions(continue_as_new_after=10)
    async with (
        agent_worker(client, queue, options=short),
        served(client, queue) as there,
        served(client, queue) as here,
    ):
        task_id = (await there.send("ask")).id
        read, switched = Tasks.read, False

        async def read_before_the_switch(tasks: Tasks, caller: Caller, task_id: str) -> LogState:
            nonlocal switched
            state = await read(tasks, caller, task_id)
            if not switched:
                switched = True
                await there.send("ask:between", task_id=task_id)
                await eventually(
                    lambda: _rests_in_another_run(client, task_id, state.run_id), within=10
                )
            return state

        monkeypatch.setattr(Tasks, "read", read_before_the_switch)
        began = time.monotonic()
        stream = here.subscribe(task_id)
        begins = await anext(stream)
        assert isinstance(begins, Task)
        seen: Event = begins
        while "between" not in str(seen):  # in the Task, or in an event behind it
            seen = await within(15, anext(stream))
        await stream.aclose()
        assert time.monotonic() - began < HandlerOptions().read_timeout.total_seconds()


async def _rests_in_another_run(client: Client, task_id: str, run_id: str) -> bool:
    described = await client.get_workflow_handle(task_id).describe()
    busy = described.raw_description.HasField("pending_workflow_task")
    return described.run_id != run_id and described.history_length < 10 and not busy
