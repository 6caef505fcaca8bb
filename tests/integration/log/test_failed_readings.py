"""Logs that can be read only slowly, in part, or no longer: no caller is told anything wrong."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from a2a.types.a2a_pb2 import Artifact, Part, Task, TaskArtifactUpdateEvent
from a2a.utils.errors import InternalError, InvalidParamsError, TaskNotFoundError
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal import AgentOptions, HandlerOptions
from a2a_temporal._gateway import Gateway
from a2a_temporal._log import wire
from a2a_temporal._log.protojson import event_to_json
from a2a_temporal._reading.cache import Logs
from a2a_temporal._reading.position import LogEvent
from a2a_temporal._reading.reader import LogReader, read_log
from a2a_temporal._server.feed import Feed
from a2a_temporal._server.feeds import Feeds
from a2a_temporal._server.search_attributes import Registration
from tests.support.in_process import (
    CALL,
    Scripted,
    Served,
    agent_worker,
    new_task_queue,
    request,
    running,
    served,
)
from tests.support.resets import reset_to_the_start
from tests.support.streams import next_of, watching
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

ENTRIES = 30
CALLERS = 10


class Slow(PayloadCodec):
    """Takes as long for a payload as a codec server that is far away."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        await asyncio.sleep(0.1)
        return list(payloads)


@pytest_asyncio.fixture
async def client(temporal: TemporalServer) -> Client:
    return await temporal.client()


@pytest_asyncio.fixture
async def waiting(client: Client) -> AsyncGenerator[tuple[Served, str]]:
    """A served agent without a worker, and a task of it."""
    queue = new_task_queue()
    async with served(client, queue) as agent:
        yield agent, await agent.start("ask")


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[Feed]:
    """The feeds that have polled, in the order of their polls."""
    polled: list[Feed] = []
    poll = Feed.poll

    async def noted(feed: Feed) -> bool:
        polled.append(feed)
        return await poll(feed)

    monkeypatch.setattr(Feed, "poll", noted)
    return polled


async def test_a_log_that_takes_longer_than_a_call_may_is_read_in_several(
    client: Client, waiting: tuple[Served, str], temporal: TemporalServer
) -> None:
    near, task_id = waiting
    for number in range(ENTRIES):
        await client.get_workflow_handle(task_id).signal(wire.EVENTS_SIGNAL, _chunk(number))
    converter = replace(DataConverter.default, payload_codec=Slow())
    far = await Client.connect(temporal.address, data_converter=converter)
    options = HandlerOptions(read_timeout=timedelta(seconds=1))
    async with served(far, near.task_queue, options) as agent:

        async def read() -> Task:
            return await agent.get(task_id)

        async def subscribed() -> object:
            async with aclosing(agent.subscribe(task_id)) as stream:
                return await next_of(stream)

        task = await eventually(_if_it_can(read), within=20)
        assert len(task.artifacts[0].parts) == ENTRIES
        assert await eventually(_if_it_can(subscribed), within=20) == task


async def test_a_poll_goes_on_in_the_run_that_was_read_without_one(client: Client) -> None:
    async with running(client, options=AgentOptions(continue_as_new_after=10)) as agent:
        task_id = (await agent.send("chunks:2 ask")).id
        reader, events = LogReader(Gateway(client), task_id), list[LogEvent]()
        reader.listen = lambda entry, made: events.extend(made)
        await reader.read()
        known = reader.position.run_id
        for _ in range(10):
            await agent.send("chunks:2 ask", task_id=task_id)
        newest = await read_log(client, task_id)
        assert newest.run_id != known
        while reader.state is None or reader.state.entries < newest.entries:
            await within(5, reader.poll())
        chunks = [each for each in events if isinstance(each.event, TaskArtifactUpdateEvent)]
        assert len(chunks) == 2 * 11


async def test_a_call_whose_log_is_gone_learns_so_where_no_poll_is_to_be_had(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def poll(_: Feed) -> bool:
        raise RPCError("exhausted", RPCStatusCode.RESOURCE_EXHAUSTED, b"")

    monkeypatch.setattr(Feed, "poll", poll)
    monkeypatch.setattr("a2a_temporal._server.feeds.is_out_of_polls", bool)
    feeds = Feeds(client, Logs(client), agent="scripted", long_polls=1)
    with pytest.raises(RPCError) as failed:
        async with feeds.follow("no-such-task", new=True):
            pass
    assert failed.value.status == RPCStatusCode.NOT_FOUND
    await feeds.aclose()


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (RPCError("not allowed", RPCStatusCode.PERMISSION_DENIED, b""), InternalError),
        (RPCError("workflow not found", RPCStatusCode.NOT_FOUND, b""), TaskNotFoundError),
    ],
)
async def test_a_task_that_can_no_longer_be_read_answers_nobody(
    waiting: tuple[Served, str],
    followed: list[Feed],
    failure: RPCError,
    told: type[Exception],
) -> None:
    agent, task_id = waiting
    sending = asyncio.create_task(agent.send("more", task_id=task_id))

    async def taken() -> bool:
        return len((await agent.get(task_id)).history) == 2

    await eventually(taken, within=30)
    followed[-1].fail(failure)
    with pytest.raises(told):
        await within(5, sending)


async def test_a_message_after_a_reset_never_meets_the_end_before_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, scripted, pages = new_task_queue(), Scripted(), asyncio.Event()
    poll_history = Gateway.poll_history

    async def held(gateway: Gateway, *args: Any, **options: Any) -> Any:
        page = await poll_history(gateway, *args, **options)
        await pages.wait()
        return page

    async with served(client, queue) as agent, AsyncExitStack() as stack:
        async with agent_worker(client, queue, agent=scripted):
            task_id = await agent.start("gate")
            stream = await stack.enter_async_context(watching(agent.subscribe(task_id)))
            await stream.until(1)
            monkeypatch.setattr(Gateway, "poll_history", held)
            scripted.gate.set()
            await client.get_workflow_handle(task_id).result()
        await reset_to_the_start(client, task_id, without_signals=True)
        sending = asyncio.create_task(agent.send("more", task_id=task_id, wait=False))
        done, _ = await asyncio.wait([sending], timeout=0.5)
        assert not done
        pages.set()
        sent = await within(20, sending)
        assert sent.history[-1].parts[0].text == "more"


async def test_of_two_messages_with_one_id_sent_at_once_one_is_refused(
    waiting: tuple[Served, str],
) -> None:
    agent, task_id = waiting
    first, second = request("one", task_id, wait=False), request("two", task_id, wait=False)
    second.message.message_id = first.message.message_id
    answers = await asyncio.gather(
        agent.handler.on_message_send(first, CALL),
        agent.handler.on_message_send(second, CALL),
        return_exceptions=True,
    )
    (refused,) = [each for each in answers if isinstance(each, BaseException)]
    assert isinstance(refused, InvalidParamsError)
    assert len((await agent.get(task_id)).history) == 2


async def test_what_json_cannot_express_makes_no_other_message(
    waiting: tuple[Served, str],
) -> None:
    agent, task_id = waiting
    message = request("more", task_id, wait=False)
    # A field of a later version of the protocol, as it comes over gRPC.
    message.message.MergeFromString(b"\xa2\x06\x03new")
    for _ in range(2):
        answer = await agent.handler.on_message_send(message, CALL)
        assert isinstance(answer, Task)
    assert len((await agent.get(task_id)).history) == 2


async def test_a_blocking_call_keeps_no_events(client: Client, followed: list[Feed]) -> None:
    async with served(client, new_task_queue()) as agent:
        sending = asyncio.create_task(agent.send("ask"))
        await eventually(lambda: followed, within=30)
        workflow = client.get_workflow_handle(followed[-1].task_id)
        for number in range(ENTRIES):
            await workflow.signal(wire.EVENTS_SIGNAL, _chunk(number))
        await eventually(lambda: followed[-1].end == ENTRIES, within=30)
        assert not any(followed[-1].events_from(place) for place in range(ENTRIES))
        sending.cancel()
        await asyncio.wait([sending])


async def test_in_an_outage_all_learn_at_once_that_nothing_is_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        lazy = await Client.connect(f"127.0.0.1:{mute.getsockname()[1]}", lazy=True)
        registration = Registration(Gateway(lazy, timeout=timedelta(seconds=0.5)))
        asking = [asyncio.create_task(registration.ensure()) for _ in range(CALLERS)]
        ended, _ = await asyncio.wait(asking, timeout=5)
        assert len(ended) == CALLERS
        assert all(each.exception() is not None for each in ended)


def _if_it_can(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return a call that answers with None where it would answer that it cannot now."""

    async def tried() -> Any:
        try:
            return await call()
        except InternalError:
            return None

    return tried


def _chunk(number: int) -> dict[str, Any]:
    artifact = Artifact(artifact_id="book", parts=[Part(text=f"{number} ")])
    return {
        "version": wire.LOG_VERSION,
        "turn": 1,
        "attempt": 1,
        "sequence": number + 1,
        "at": "2026-01-02T12:00:00.000Z",
        "events": [event_to_json(TaskArtifactUpdateEvent(artifact=artifact, append=True))],
    }
