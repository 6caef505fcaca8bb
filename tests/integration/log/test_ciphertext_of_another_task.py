"""Ciphertext is bound to its workflow: copied into another task, it opens nothing there."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from a2a.types.a2a_pb2 import TaskState
from a2a.utils.errors import InternalError
from temporalio.api.common.v1 import Payload, Payloads, WorkflowExecution
from temporalio.api.workflowservice.v1 import SignalWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.common import RawValue
from temporalio.converter import DataConverter

from a2a_temporal import AgentOptions, EncryptionCodec
from a2a_temporal._gateway import Gateway, converter_of
from a2a_temporal._log import wire
from a2a_temporal._reading.decode import LogUnreadableError
from a2a_temporal._reading.late_configs import read_late_configs
from a2a_temporal._reading.pages import history_events
from a2a_temporal._reading.reader import read_log
from tests.support.in_process import agent_worker, new_task_queue, served
from tests.support.logs import at_rest
from tests.support.streams import watching
from tests.support.temporal_server import TemporalServer

KEYS = {"key": b"k" * 32}
CONFIG = {
    "version": wire.LOG_VERSION,
    "set": {"id": "c", "url": "https://example.com/hook", "token": "alices-secret"},
    "at": "2026-01-02T12:00:00.000Z",
}


class Bound(EncryptionCodec):
    """Encrypts, and refuses to work without a workflow to be bound to."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        assert self.workflow_id
        return await super().encode(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        assert self.workflow_id
        return await super().decode(payloads)


async def _client(server: TemporalServer, codec: EncryptionCodec) -> Client:
    plain = await server.client()
    converter = replace(DataConverter.default, payload_codec=codec)
    return Client(plain.service_client, namespace=plain.namespace, data_converter=converter)


async def test_a_push_config_that_was_copied_tells_nobody_anything(
    temporal: TemporalServer, caplog: pytest.LogCaptureFixture
) -> None:
    client = await _client(temporal, EncryptionCodec(KEYS))
    async with served(client, new_task_queue()) as agent:
        alices, bobs = await agent.start("ask"), await agent.start("ask")
        await client.get_workflow_handle(alices).signal(wire.PUSH_CONFIG_SIGNAL, CONFIG)
        payload = await _signaled(client, alices)
        await _signal(client, alices, payload)
        assert set((await read_log(client, alices)).push_configs) == {"c"}

        await _signal(client, bobs, payload)
        with pytest.raises(LogUnreadableError):
            await read_log(client, bobs)
        with pytest.raises(InternalError, match="try again"):
            await agent.get(bobs)
    assert "was encrypted for workflow" in caplog.text
    assert "alices-secret" not in caplog.text


async def test_late_configs_that_were_copied_tell_nobody_anything(
    temporal: TemporalServer,
) -> None:
    client, queue = await _client(temporal, EncryptionCodec(KEYS)), new_task_queue()
    async with agent_worker(client, queue), served(client, queue) as agent:
        bobs = (await agent.send("say:x")).id
        alices = converter_of(client, wire.late_configs_id("alices", 1))
        (theirs,) = await alices.encode([{"push_configs": [], "push_revision": 0}])
        plain = await temporal.client()
        await plain.start_workflow(
            wire.LATE_CONFIGS_WORKFLOW,
            RawValue(theirs),
            id=wire.late_configs_id(bobs, 1),
            task_queue=new_task_queue(),
        )
        with pytest.raises(LogUnreadableError):
            await read_late_configs(client, await read_log(client, bobs))


async def test_every_payload_of_a_task_is_bound_to_a_workflow(temporal: TemporalServer) -> None:
    client, queue = await _client(temporal, Bound(KEYS)), new_task_queue()
    options = AgentOptions(continue_as_new_after=10)
    async with agent_worker(client, queue, options=options), served(client, queue) as agent:
        task = await agent.send("say:a chunks:3 ask:more")
        await client.get_workflow_handle(task.id).signal(wire.PUSH_CONFIG_SIGNAL, CONFIG)
        async with watching(agent.subscribe(task.id)) as stream:
            await stream.until(1)
            await agent.send("chunks:2 ask", task_id=task.id)
            await agent.send("flaky chunks:2", task_id=task.id, wait=False)
            await stream.end()
        assert (await agent.get(task.id)).status.state == TaskState.TASK_STATE_COMPLETED
        assert isinstance(await client.get_workflow_handle(task.id).query(wire.TASK_QUERY), dict)
        async with served(client, queue) as elsewhere:
            assert await elsewhere.get(task.id) == await agent.get(task.id)
    async for event in history_events(Gateway(client), task.id, ""):
        assert b"encryption-workflow-id" in event.SerializeToString() or not event.HasField(
            "workflow_execution_signaled_event_attributes"
        )


async def test_a_strict_process_takes_nothing_that_is_not_encrypted(
    temporal: TemporalServer, caplog: pytest.LogCaptureFixture
) -> None:
    strict = await _client(temporal, EncryptionCodec(KEYS, strict=True))
    open_client, queue = await temporal.client(), new_task_queue()
    async with (
        agent_worker(strict, queue),
        served(strict, queue) as agent,
        served(open_client, queue) as unsealed,
    ):
        assert (await agent.send("chunks:2")).status.state == TaskState.TASK_STATE_COMPLETED
        task_id = (await agent.send("ask")).id
        await at_rest(open_client, task_id)
        await open_client.get_workflow_handle(task_id).signal(wire.PUSH_CONFIG_SIGNAL, CONFIG)
        with pytest.raises(InternalError, match="try again"):
            await agent.get(task_id)
        with pytest.raises(InternalError, match="try again"):
            await agent.get(await unsealed.start("ask"))
    assert "A2A_TEMPORAL_ENCRYPTION_STRICT" in caplog.text


async def _signaled(client: Client, task_id: str) -> Payload:
    async for event in history_events(Gateway(client), task_id, ""):
        signaled = event.workflow_execution_signaled_event_attributes
        if signaled.signal_name:
            return signaled.input.payloads[0]
    raise AssertionError("no signal")


async def _signal(client: Client, task_id: str, payload: Payload) -> None:
    await client.workflow_service.signal_workflow_execution(
        SignalWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=task_id),
            signal_name=wire.PUSH_CONFIG_SIGNAL,
            input=Payloads(payloads=[payload]),
        )
    )
