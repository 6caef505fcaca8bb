"""Whose task it is, is decided first: who may not see it learns nothing, also not by its size."""

import uuid
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from a2a.auth.user import User
from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import Artifact, GetTaskRequest, Part, TaskArtifactUpdateEvent
from a2a.utils.errors import A2AError, TaskNotFoundError
from temporalio.client import Client
from temporalio.common import RawValue
from temporalio.converter import DataConverter

from a2a_temporal import EncryptionCodec
from a2a_temporal._log import wire
from a2a_temporal._log.protojson import event_to_json
from tests.support.in_process import Served, new_task_queue, request, served
from tests.support.slow_link import noise, slow_link
from tests.support.temporal_server import TemporalServer

CHUNKS, CHUNK_BYTES = 40, 50_000


class _User(User):
    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_authenticated(self) -> bool:
        return bool(self._name)

    @property
    def user_name(self) -> str:
        return self._name


def _call(name: str) -> ServerCallContext:
    return ServerCallContext(user=_User(name))


async def _refused(agent: Served, task_id: str, name: str = "bob") -> str:
    with pytest.raises(A2AError) as refused:
        await agent.handler.on_get_task(GetTaskRequest(id=task_id), _call(name))
    assert isinstance(refused.value, TaskNotFoundError), refused.value
    return str(refused.value)


@pytest_asyncio.fixture
async def client(temporal: TemporalServer) -> Client:
    return await temporal.client()


@pytest_asyncio.fixture
async def large(client: Client) -> AsyncGenerator[tuple[str, str]]:
    """A large task of alice, and its queue."""
    queue = new_task_queue()
    async with served(client, queue) as agent:
        task: Any = await agent.handler.on_message_send(request("x", wait=False), _call("alice"))
    workflow = client.get_workflow_handle(task.id)
    for number in range(CHUNKS):
        await workflow.signal(wire.EVENTS_SIGNAL, _chunk(number))
    yield queue, task.id


async def test_a_large_task_of_others_is_refused_before_it_is_read(
    temporal: TemporalServer, large: tuple[str, str]
) -> None:
    queue, task_id = large
    async with slow_link(temporal.port) as link:
        for warm in (False, True):
            client = await Client.connect(f"127.0.0.1:{link.port}")
            async with served(client, queue) as agent:
                if warm:
                    await agent.handler.on_get_task(GetTaskRequest(id=task_id), _call("alice"))
                before = link.received
                for name in ("bob", ""):
                    await _refused(agent, task_id, name)
                assert link.received - before < CHUNKS * CHUNK_BYTES / 2
                assert await agent.handler.on_get_task(GetTaskRequest(id=task_id), _call("alice"))


async def test_the_refusal_names_the_id_that_was_asked_for_and_nothing_else(
    client: Client,
) -> None:
    queue = new_task_queue()
    async with served(client, queue) as agent:
        task: Any = await agent.handler.on_message_send(request("x", wait=False), _call("alice"))
        theirs = EncryptionCodec({"theirs": b"k" * 32})
        converter = replace(DataConverter.default, payload_codec=theirs)
        plain, encrypted = str(uuid.uuid4()), str(uuid.uuid4())
        (payload,) = await converter.encode([{"their": "secret"}])
        for workflow_id, value in ((plain, {"task_id": "x"}), (encrypted, RawValue(payload))):
            await client.start_workflow(
                "Unrelated", value, id=workflow_id, task_queue=new_task_queue()
            )
        texts = {
            (await _refused(agent, task_id)).replace(task_id, "<id>")
            for task_id in (task.id, plain, encrypted, str(uuid.uuid4()))
        }
        assert texts == {"Task not found: <id>"}
        long = "x" * 5_000
        assert len(await _refused(agent, long)) < 500


async def test_a_task_that_cannot_be_decoded_is_not_found_by_others(
    client: Client,
) -> None:
    codec = EncryptionCodec({"key": b"k" * 32})
    converter = replace(DataConverter.default, payload_codec=codec)
    keyed = Client(client.service_client, namespace=client.namespace, data_converter=converter)
    queue = new_task_queue()
    async with served(keyed, queue) as agent, served(client, queue) as keyless:
        task: Any = await agent.handler.on_message_send(request("x", wait=False), _call("alice"))
        assert await _refused(keyless, task.id) == f"Task not found: {task.id}"
        assert await _refused(keyless, task.id, "") == f"Task not found: {task.id}"
        with pytest.raises(A2AError, match="try again"):
            await keyless.handler.on_get_task(GetTaskRequest(id=task.id), _call("alice"))


def _chunk(number: int) -> dict[str, Any]:
    artifact = Artifact(artifact_id="book", parts=[Part(text=noise(CHUNK_BYTES))])
    return {
        "version": wire.LOG_VERSION,
        "turn": 1,
        "attempt": 1,
        "sequence": number + 1,
        "at": "2026-01-02T12:00:00.000Z",
        "events": [event_to_json(TaskArtifactUpdateEvent(artifact=artifact, append=True))],
    }
