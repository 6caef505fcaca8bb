"""The gRPC binding: the same tasks, the same errors, versions and extensions as over HTTP."""

import re
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from a2a.compat.v0_3 import a2a_v0_3_pb2, a2a_v0_3_pb2_grpc
from a2a.types import a2a_pb2, a2a_pb2_grpc
from google.rpc.status_pb2 import Status

from a2a_temporal._server.resume import URI
from tests.support.cluster import Cluster, Options, running_cluster
from tests.support.processes import free_port
from tests.support.results import state
from tests.support.sdk import collected, official_client
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within

Metadata = Sequence[tuple[str, str]]
_REASON = re.compile("[A-Z_]{8,}")
_EOF: Any = vars(grpc.aio)["EOF"]  # which its stubs leave out
V1: Metadata = (("a2a-version", "1.0"),)


@dataclass(frozen=True, kw_only=True)
class _Grpc:
    cluster: Cluster
    channel: Any

    @property
    def stub(self) -> Any:
        stub: Any = a2a_pb2_grpc.A2AServiceStub
        return stub(self.channel)

    @property
    def old(self) -> Any:
        stub: Any = a2a_v0_3_pb2_grpc.A2AServiceStub
        return stub(self.channel)


@asynccontextmanager
async def _serving(temporal: TemporalServer, folder: Path) -> AsyncGenerator[_Grpc]:
    port = free_port()
    options = Options(api=(f"--grpc-port={port}",))
    async with (
        running_cluster(temporal, folder, apis=1, workers=1, options=options) as cluster,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        yield _Grpc(cluster=cluster, channel=channel)


@pytest_asyncio.fixture(scope="module")
async def served(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[_Grpc]:
    """A server that all tests of this file leave as it is."""
    async with _serving(temporal, tmp_path_factory.mktemp("grpc")) as served:
        yield served


def _send(text: str) -> a2a_pb2.SendMessageRequest:
    message = a2a_pb2.Message(
        message_id=str(uuid.uuid4()),
        role=a2a_pb2.ROLE_USER,
        parts=[a2a_pb2.Part(text=text)],
    )
    return a2a_pb2.SendMessageRequest(message=message)


def _reason(error: grpc.aio.AioRpcError) -> str:
    trailing: Any = error.trailing_metadata()
    status = Status.FromString(dict(trailing)["grpc-status-details-bin"])
    return next(text for text in _REASON.findall(status.details[0].value.decode(errors="ignore")))


async def _rest(call: Any) -> list[Any]:
    events: list[Any] = []
    while (event := await within(15, call.read())) is not _EOF:
        events.append(event)
    return events


async def _refused(
    call: Any, code: grpc.StatusCode, reason: str | None = None
) -> grpc.aio.AioRpcError:
    answer = _rest(call) if hasattr(call, "read") else call
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await answer
    assert refusal.value.code() == code, refusal.value
    if reason is not None:
        assert _reason(refusal.value) == reason
    return refusal.value


async def test_every_operation_is_served_over_grpc(served: _Grpc) -> None:
    stub, caller = served.stub, served.cluster.caller
    done = (await stub.SendMessage(_send("echo hi"), metadata=V1)).task
    assert done.status.state == a2a_pb2.TASK_STATE_COMPLETED
    assert await stub.GetTask(a2a_pb2.GetTaskRequest(id=done.id), metadata=V1) == done
    assert state(await caller.get(done.id)) == "COMPLETED"

    events = [e async for e in stub.SendStreamingMessage(_send("ask colour?"), metadata=V1)]
    assert events[0].HasField("task")
    asked = events[0].task.id
    subscription = stub.SubscribeToTask(a2a_pb2.SubscribeToTaskRequest(id=asked), metadata=V1)
    snapshot = await within(10, subscription.read())
    assert snapshot.task.status.state == a2a_pb2.TASK_STATE_INPUT_REQUIRED
    await caller.start("red", task_id=asked)
    rest = await _rest(subscription)
    assert rest[-1].status_update.status.state == a2a_pb2.TASK_STATE_COMPLETED

    parked = (await stub.SendMessage(_send("ask number?"), metadata=V1)).task
    canceled = await stub.CancelTask(a2a_pb2.CancelTaskRequest(id=parked.id), metadata=V1)
    assert canceled.status.state == a2a_pb2.TASK_STATE_CANCELED
    listed = await stub.ListTasks(a2a_pb2.ListTasksRequest(page_size=100), metadata=V1)
    assert done.id in [task.id for task in listed.tasks]


async def test_the_official_client_works_over_grpc(served: _Grpc) -> None:
    url = served.cluster.apis[0].url
    async with official_client(url, binding="GRPC") as client:
        responses = await collected(client.send_message(_send("chunks 3 8 0")))
        assert responses[0].HasField("task")
        last = responses[-1].status_update
        assert last.status.state == a2a_pb2.TASK_STATE_COMPLETED
        task = await client.get_task(a2a_pb2.GetTaskRequest(id=last.task_id))
        assert task.artifacts


async def test_errors_have_the_codes_and_reasons_of_the_specification(served: _Grpc) -> None:
    code = grpc.StatusCode
    stub = served.stub
    unknown = str(uuid.uuid4())
    done = (await stub.SendMessage(_send("echo hi"), metadata=V1)).task.id
    get = a2a_pb2.GetTaskRequest
    subscribe = a2a_pb2.SubscribeToTaskRequest
    for call, status, reason in (
        (stub.GetTask(get(id=unknown), metadata=V1), code.NOT_FOUND, "TASK_NOT_FOUND"),
        (
            stub.SubscribeToTask(subscribe(id=unknown), metadata=V1),
            code.NOT_FOUND,
            "TASK_NOT_FOUND",
        ),
        (
            stub.SubscribeToTask(subscribe(id=done), metadata=V1),
            code.FAILED_PRECONDITION,
            "UNSUPPORTED_OPERATION",
        ),
        (
            stub.CancelTask(a2a_pb2.CancelTaskRequest(id=done), metadata=V1),
            code.FAILED_PRECONDITION,
            "TASK_NOT_CANCELABLE",
        ),
        (
            stub.SendMessage(a2a_pb2.SendMessageRequest(), metadata=V1),
            code.INVALID_ARGUMENT,
            "INVALID_PARAMS",
        ),
        (
            stub.ListTasks(a2a_pb2.ListTasksRequest(page_size=101), metadata=V1),
            code.INVALID_ARGUMENT,
            "INVALID_PARAMS",
        ),
        (
            stub.GetExtendedAgentCard(a2a_pb2.GetExtendedAgentCardRequest(), metadata=V1),
            code.FAILED_PRECONDITION,
            "UNSUPPORTED_OPERATION",
        ),
    ):
        await _refused(call, status, reason)


async def test_versions_count_by_major_and_minor(served: _Grpc) -> None:
    get = a2a_pb2.GetTaskRequest(id="x")
    for version in ("1.9", "2.0", "9.9", "abc", "0.3", ""):
        call = served.stub.GetTask(get, metadata=(("a2a-version", version),))
        await _refused(call, grpc.StatusCode.FAILED_PRECONDITION, "VERSION_NOT_SUPPORTED")
    await _refused(
        served.stub.GetTask(get), grpc.StatusCode.FAILED_PRECONDITION, "VERSION_NOT_SUPPORTED"
    )
    for version in ("1.0", "1.0.3"):
        call = served.stub.GetTask(get, metadata=(("a2a-version", version),))
        await _refused(call, grpc.StatusCode.NOT_FOUND)


async def test_a_user_sees_the_own_tasks_only(served: _Grpc) -> None:
    alice = (*V1, ("authorization", "Bearer alice"))
    bob = (*V1, ("authorization", "Bearer bob"))
    stub = served.stub
    task = (await stub.SendMessage(_send("ask colour?"), metadata=alice)).task
    foreign = await _refused(
        stub.GetTask(a2a_pb2.GetTaskRequest(id=task.id), metadata=bob),
        grpc.StatusCode.NOT_FOUND,
    )
    unknown_id = str(uuid.uuid4())
    unknown = await _refused(
        stub.GetTask(a2a_pb2.GetTaskRequest(id=unknown_id), metadata=bob),
        grpc.StatusCode.NOT_FOUND,
    )
    assert foreign.details() == str(unknown.details()).replace(unknown_id, task.id)
    elsewhere = a2a_pb2.GetTaskRequest(id=task.id, tenant="elsewhere")
    await _refused(stub.GetTask(elsewhere, metadata=alice), grpc.StatusCode.NOT_FOUND)
    assert state(await served.cluster.caller.as_user("alice").get(task.id)) == "INPUT_REQUIRED"


async def test_a_stream_is_resumed_over_grpc(served: _Grpc) -> None:
    active = (*V1, ("a2a-extensions", URI))
    call = served.stub.SendStreamingMessage(_send("chunks 3 8 0; ask a?"), metadata=active)
    assert dict(await call.initial_metadata())["a2a-extensions"] == URI
    sent = [event async for event in call]
    cursor = sent[1].artifact_update.metadata or sent[1].status_update.metadata
    place = (("a2a-stream-cursor", str(cursor[URI]["cursor"])),)
    request = a2a_pb2.SubscribeToTaskRequest(id=sent[0].task.id)
    resumed = served.stub.SubscribeToTask(request, metadata=(*active, *place))
    assert [await within(10, resumed.read()) for _ in sent[2:]] == sent[2:]

    last = str(sent[-1].status_update.metadata[URI]["cursor"])
    quiet = served.stub.SubscribeToTask(request, metadata=(*active, ("a2a-stream-cursor", last)))
    assert dict(await within(5, quiet.initial_metadata()))["a2a-extensions"] == URI


async def test_a_client_of_0_3_works_on_the_same_port(served: _Grpc) -> None:
    old = a2a_v0_3_pb2
    message = old.Message(
        message_id=str(uuid.uuid4()),
        role=old.ROLE_USER,
        content=[old.Part(text="ask colour?")],
    )
    request = old.SendMessageRequest(request=message)
    events = [event async for event in served.old.SendStreamingMessage(request)]
    assert events[-1].status_update.final
    task_id = events[0].task.id
    assert state(await served.cluster.caller.get(task_id)) == "INPUT_REQUIRED"
    task = await served.old.GetTask(old.GetTaskRequest(name=f"tasks/{task_id}"))
    assert task.status.state == old.TASK_STATE_INPUT_REQUIRED
    await _refused(
        served.old.GetTask(old.GetTaskRequest(name="tasks/none")), grpc.StatusCode.NOT_FOUND
    )


async def test_a_request_over_the_limit_is_refused(served: _Grpc) -> None:
    await _refused(
        served.stub.SendMessage(_send("x" * 11_000_000), metadata=V1),
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    )
    too_large = served.stub.SendMessage(_send("x" * 3_000_000), metadata=V1)
    await _refused(too_large, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PARAMS")


async def test_open_streams_do_not_keep_a_server_that_is_told_to_stop(
    temporal: TemporalServer, tmp_path: Path
) -> None:
    async with _serving(temporal, tmp_path) as served:
        task = (await served.stub.SendMessage(_send("ask a?"), metadata=V1)).task
        subscription = served.stub.SubscribeToTask(
            a2a_pb2.SubscribeToTaskRequest(id=task.id), metadata=V1
        )
        await within(10, subscription.read())
        api = served.cluster.apis[0].process
        api.terminate()
        await api.exited(within=10)
        assert await within(5, subscription.read()) is _EOF
