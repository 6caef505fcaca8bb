"""The official client works with the server as it does with any other."""

import json
import uuid

import pytest
from a2a.client import Client
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import TaskNotFoundError, UnsupportedOperationError

from tests.support.calls import BINDINGS
from tests.support.cluster import Cluster
from tests.support.sdk import collected, official_client
from tests.support.waiting import within


def _request(
    text: str, *, task_id: str = "", return_immediately: bool = False
) -> SendMessageRequest:
    return SendMessageRequest(
        message=Message(
            message_id=str(uuid.uuid4()),
            role=Role.ROLE_USER,
            task_id=task_id,
            parts=[Part(text=text)],
        ),
        configuration=SendMessageConfiguration(return_immediately=return_immediately),
    )


async def _send(client: Client, text: str, *, task_id: str = "") -> list[StreamResponse]:
    sent = client.send_message(_request(text, task_id=task_id))
    return await within(20, collected(sent), what=text)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_streaming_answering_reading_and_canceling(cluster: Cluster, binding: str) -> None:
    async with official_client(cluster.caller.url, binding=binding, token="alice") as client:
        streamed = await _send(client, "chunks 5 32 0.05; ask colour?")
        task_id = streamed[0].task.id
        assert task_id
        assert streamed[-1].status_update.status.state == TaskState.TASK_STATE_INPUT_REQUIRED

        subscription = client.subscribe(SubscribeToTaskRequest(id=task_id))
        snapshot = await within(5, subscription.__anext__())
        assert snapshot.task.id == task_id
        answered = await _send(client, "blue", task_id=task_id)
        assert answered[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        rest = await within(30, collected(subscription))
        assert rest[-1] == answered[-1]

        task = await client.get_task(GetTaskRequest(id=task_id))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert [artifact.name for artifact in task.artifacts] == ["chunks", "answer"]

        parked = await _send(client, "ask colour?")
        canceled = await client.cancel_task(CancelTaskRequest(id=parked[0].task.id))
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_silent_stream_outlives_the_clients_patience(
    cluster: Cluster, binding: str
) -> None:
    # Five seconds of silence is where the client gives up by default.
    async with official_client(cluster.caller.url, binding=binding, patience=5) as client:
        streamed = await _send(client, "pause 9")
        assert streamed[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


@pytest.mark.parametrize("binding", BINDINGS)
async def test_refusals_arrive_as_the_clients_own_errors(cluster: Cluster, binding: str) -> None:
    async with official_client(cluster.caller.url, binding=binding) as client:
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id=str(uuid.uuid4())))
        done = await _send(client, "echo done")
        with pytest.raises(UnsupportedOperationError):
            await _send(client, "more", task_id=done[0].task.id)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_stream_holds_every_character(cluster: Cluster, binding: str) -> None:
    """Python takes more characters for the end of a line than server-sent events do."""
    text = "one\u2028two\u2029three\x85four \x00\x1c\x7f five \U0001f600"
    data = json.dumps({text: text})
    async with official_client(cluster.caller.url, binding=binding) as client:
        streamed = await _send(client, f"echo-data {data}")
    (artifact,) = (
        each.artifact_update.artifact for each in streamed if each.artifact_update.artifact.parts
    )
    assert dict(artifact.parts[0].data.struct_value.items()) == {text: text}
