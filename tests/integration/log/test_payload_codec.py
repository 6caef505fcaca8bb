"""With a payload codec, history is unreadable to others and readers see everything."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

import httpx
import pytest
from a2a.types.a2a_pb2 import ListTasksRequest, TaskState
from a2a.utils.errors import InternalError
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec

from a2a_temporal import AgentOptions, EncryptionCodec, HandlerOptions
from a2a_temporal._storage import StoredPayloadError
from tests.support.in_process import (
    CALL,
    Scripted,
    Served,
    agent_worker,
    new_task_queue,
    running,
    served,
)
from tests.support.streams import watching
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

SECRET = "a-word-nobody-else-may-read"


class Masking(PayloadCodec):
    """Masks every byte; can be made to fail, as a codec does whose keys are out of reach."""

    def __init__(self) -> None:
        self.fails = False

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload(metadata={"encoding": b"test/masked"}, data=_mask(each.SerializeToString()))
            for each in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if self.fails:
            raise ConnectionError("the key server does not answer")
        return [Payload.FromString(_mask(each.data)) for each in payloads]


class Lagging(Masking):
    """Masks; can be made to miss the next so many payloads, as a storage does that lags behind."""

    missing = 0

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if self.missing:
            self.missing -= 1
            raise StoredPayloadError("There is no such file.")
        return await super().decode(payloads)


class Down(Masking):
    """Masks; can be made to fail as a storage driver does whose service does not answer."""

    failures = 0

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        try:
            if self.fails:
                raise httpx.ConnectError("All connection attempts failed")
        except httpx.ConnectError as error:
            self.failures += 1
            raise RuntimeError("StorageDriver retrieve failed") from error
        return await super().decode(payloads)


class Behind(Masking):
    """Masks; has each payload only some seconds after it was written, as one of several may."""

    def __init__(self, written: dict[bytes, float]) -> None:
        super().__init__()
        self.lag = 0.0
        self.failures = 0
        self._written = written

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        masked = await super().encode(payloads)
        self._written.update((each.data, time.monotonic()) for each in masked)
        return masked

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if any(time.monotonic() - self._written[each.data] < self.lag for each in payloads):
            self.failures += 1
            raise StoredPayloadError("There is no such file.")
        return await super().decode(payloads)


class OutOfReach(EncryptionCodec):
    """Encrypts; can be made to fail as a codec does whose key server is down."""

    fails = False

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if self.fails:
            raise ConnectionError("the key server does not answer")
        return await super().decode(payloads)


def _mask(data: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in data)


async def _client(server: TemporalServer, codec: PayloadCodec) -> Client:
    plain = await server.client()
    converter = replace(DataConverter.default, payload_codec=codec)
    return Client(plain.service_client, namespace=plain.namespace, data_converter=converter)


async def test_a_task_lives_behind_a_codec(temporal: TemporalServer) -> None:
    client = await _client(temporal, Masking())
    options = AgentOptions(continue_as_new_after=10)
    async with running(client, options=options) as agent:
        task_id = (await agent.send(f"say:{SECRET} chunks:3 ask:{SECRET}")).id
        async with watching(agent.subscribe(task_id)) as stream:
            await stream.until(1)
            await agent.send("chunks:2", task_id=task_id, wait=False)
            await stream.end()
        assert stream.chunks == ["1.0 ", "1.1 ", "1.2 ", "2.0 ", "2.1 "]
        assert await agent.get(task_id) is not None
        workflow = client.get_workflow_handle(task_id)
        history = [event async for event in workflow.fetch_history_events()]
        assert not any(SECRET.encode() in event.SerializeToString() for event in history)
        assert SECRET in str((await agent.get(task_id)).history)


async def test_a_codec_that_fails_for_a_while_costs_a_stream_nothing(
    temporal: TemporalServer,
) -> None:
    queue, scripted, codec = new_task_queue(), Scripted(), Masking()
    worker = agent_worker(await _client(temporal, Masking()), queue, agent=scripted)
    async with worker, served(await _client(temporal, codec), queue) as agent:
        task_id = await agent.start("say:a gate chunks:5 pause:0.5 chunks:5")
        async with watching(agent.subscribe(task_id)) as stream:
            await stream.until(1)
            codec.fails = True
            scripted.gate.set()
            async with served(await _client(temporal, codec), queue) as new_here:
                with pytest.raises(InternalError, match="try again"):
                    await new_here.get(task_id)
            async with served(await _client(temporal, Masking()), queue) as other:
                await eventually(lambda: _ended(other, task_id), within=20)
            assert not stream.ended
            codec.fails = False
            await stream.end()
        assert stream.chunks == [f"1.{index} " for index in range(5)] * 2
        assert stream.last_state == "TASK_STATE_COMPLETED"


async def test_whoever_waits_for_what_is_unreadable_here_learns_so(
    temporal: TemporalServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("a2a_temporal._server.feeds._UNREADABLE_FOR", 1.0)
    queue = new_task_queue()
    old, new = b"1" * 32, b"2" * 32
    here = await _client(temporal, EncryptionCodec({"old": old}))
    there = await _client(temporal, EncryptionCodec({"new": new, "old": old}))
    async with agent_worker(there, queue), served(here, queue) as agent:
        sending = asyncio.create_task(agent.send("chunks:3"))
        async with watching(agent.stream("chunks:3")) as stream:
            with pytest.raises(InternalError, match="try again"):
                await within(20, sending, what="a blocking send")
            failure = await eventually(lambda: stream.failure, within=20)
            assert isinstance(failure, InternalError)
    assert caplog.text.count("cannot be read here") >= 2
    assert "EncryptionKeyError" in caplog.text


async def test_what_is_unreadable_for_a_moment_costs_a_stream_nothing(
    temporal: TemporalServer,
) -> None:
    """A file of a shared file system may come later than the event that names it."""
    queue, scripted, codec = new_task_queue(), Scripted(), Lagging()
    worker = agent_worker(await _client(temporal, Masking()), queue, agent=scripted)
    async with worker, served(await _client(temporal, codec), queue) as agent:
        task_id = await agent.start("say:a gate chunks:5")
        async with watching(agent.subscribe(task_id)) as stream:
            await stream.until(1)
            codec.missing = 4
            scripted.gate.set()
            await stream.end()
        assert stream.chunks == [f"1.{index} " for index in range(5)]
        assert codec.missing == 0


async def test_a_storage_that_is_down_costs_a_stream_nothing_however_long(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("a2a_temporal._server.feeds._UNREADABLE_FOR", 0.0)
    queue, scripted, codec = new_task_queue(), Scripted(), Down()
    worker = agent_worker(await _client(temporal, Masking()), queue, agent=scripted)
    async with worker, served(await _client(temporal, codec), queue) as agent:
        task_id = await agent.start("say:a gate chunks:5")
        async with watching(agent.subscribe(task_id)) as stream:
            await stream.until(1)
            codec.fails = True
            scripted.gate.set()
            await eventually(lambda: codec.failures > 2 or stream.ended, within=20)
            assert not stream.ended
            codec.fails = False
            await stream.end()
        assert stream.chunks == [f"1.{index} " for index in range(5)]


async def test_a_storage_that_lags_all_the_time_costs_a_stream_nothing(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("a2a_temporal._server.feeds._UNREADABLE_FOR", 1.5)
    monkeypatch.setattr("a2a_temporal._server.feeds._LONGEST_PAUSE", 0.4)
    queue, scripted, written = new_task_queue(), Scripted(), dict[bytes, float]()
    codec = Behind(written)
    worker = agent_worker(await _client(temporal, Behind(written)), queue, agent=scripted)
    async with worker, served(await _client(temporal, codec), queue) as agent:
        words = [f"say:{number} pause:0.1" for number in range(30)]
        task_id = await agent.start(" ".join(["say:a gate", *words]))
        async with watching(agent.subscribe(task_id)) as stream:
            await stream.until(1)
            codec.lag = 0.6
            scripted.gate.set()
            await stream.end()
        assert stream.last_state == "TASK_STATE_COMPLETED"
        assert codec.failures > 5


async def _ended(agent: Served, task_id: str) -> bool:
    return (await agent.get(task_id)).status.state == TaskState.TASK_STATE_COMPLETED


async def test_a_list_goes_on_without_a_task_whose_key_is_not_here(
    temporal: TemporalServer,
) -> None:
    codec = OutOfReach({"key": b"k" * 32})
    encrypted, plain = await _client(temporal, codec), await temporal.client()
    queue = new_task_queue()
    async with (
        agent_worker(encrypted, queue),
        served(encrypted, queue, HandlerOptions(agent=queue)) as agent,
        served(plain, new_task_queue(), HandlerOptions(agent=queue)) as keyless,  # no worker
    ):
        hidden = (await agent.send("say:hidden")).id

        async def listed(by: Served, number: int) -> list[str]:
            answer = await by.handler.on_list_tasks(ListTasksRequest(), CALL)
            assert len(answer.tasks) == number
            return [task.id for task in answer.tasks]

        await eventually(lambda: listed(agent, 1), within=30)
        assert await listed(keyless, 0) == []

        shown = (await keyless.send("say:shown", wait=False)).id
        await eventually(lambda: listed(agent, 2), within=30)
        assert await listed(keyless, 1) == [shown]
        codec.fails = True
        async with served(encrypted, queue, HandlerOptions(agent=queue)) as new_here:
            with pytest.raises(InternalError):
                await new_here.handler.on_list_tasks(ListTasksRequest(), CALL)
        codec.fails = False
        assert set(await listed(agent, 2)) == {hidden, shown}
