"""What a process cannot decode is never taken for nothing there: of servers and workers alike."""

import asyncio
from dataclasses import replace

import pytest
from a2a.types.a2a_pb2 import TaskState
from a2a.utils.errors import InternalError
from temporalio.client import Client
from temporalio.converter import DataConverter

from a2a_temporal import EncryptionCodec
from a2a_temporal._server.approvals import Approvals
from a2a_temporal._server.records import UnreadableTaskError
from a2a_temporal._server.waiting import Person
from tests.support.in_process import agent_worker, new_task_queue, served
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within


async def _keyed(server: TemporalServer) -> Client:
    plain = await server.client()
    converter = replace(DataConverter.default, payload_codec=EncryptionCodec({"theirs": b"k" * 32}))
    return Client(plain.service_client, namespace=plain.namespace, data_converter=converter)


async def test_a_server_without_the_key_of_its_workers_never_shows_half_a_task(
    temporal: TemporalServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("a2a_temporal._server.feeds._UNREADABLE_FOR", 1.0)
    keyless, keyed, queue = await temporal.client(), await _keyed(temporal), new_task_queue()
    async with agent_worker(keyed, queue), served(keyless, queue) as agent:
        sending = asyncio.create_task(agent.send("say:hello chunks:3 ask"))
        with pytest.raises(InternalError, match="try again"):
            await within(60, sending, what="a blocking send")
        task_id = await agent.start("chunks:3")
        await within(60, keyed.get_workflow_handle(task_id).result(), what="the agent")
        with pytest.raises(InternalError, match="try again"):
            await agent.get(task_id)
        with pytest.raises(UnreadableTaskError) as unreadable:
            await Approvals(keyless).task(Person("", operator=True), task_id)
    assert "A2A" not in str(unreadable.value)
    assert f"Task {task_id} cannot be read here" in caplog.text
    assert "'binary/encrypted' with key 'theirs'" in caplog.text
    assert "Give it the encryption keys" in caplog.text


async def test_a_worker_without_the_key_of_a_server_loses_no_message(
    temporal: TemporalServer,
) -> None:
    keyless, keyed, queue = await temporal.client(), await _keyed(temporal), new_task_queue()
    async with served(keyless, queue) as unsealed, served(keyed, queue) as sealed:
        task_id = await unsealed.start("ask")
        async with agent_worker(keyless, queue):

            async def asked() -> bool:
                task = await unsealed.get(task_id)
                return task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED

            await eventually(asked, within=30)
            await sealed.send("say:heard", task_id=task_id, wait=False)

            async def failed() -> bool:
                found = await keyless.get_workflow_handle(task_id).describe()
                return found.raw_description.pending_workflow_task.attempt > 1

            await eventually(failed, within=30)
        async with agent_worker(keyed, queue):

            async def handled() -> bool:
                task = await sealed.get(task_id)
                return task.status.state == TaskState.TASK_STATE_COMPLETED

            await eventually(handled, within=60)
        assert "heard" in str((await sealed.get(task_id)).history)
