"""Content beyond what a history holds: whole through external storage, else a clear failure."""

import asyncio
import dataclasses
import uuid
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError
from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.worker import Worker

from a2a_temporal import A2APlugin, AgentOptions, FileSystemStorage, TemporalRequestHandler
from a2a_temporal._storage import StoredPayloadError, stored
from tests.support.temporal_server import TemporalServer

MEGABYTE = 1_000_000
CALL = ServerCallContext()


class Large(AgentExecutor):
    """``<count> <bytes>``: that many artifacts of that size; ``wait`` afterwards, if said so."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        count, size, *then = context.get_user_input().split()[:3]
        task = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await task.start_work()
        for index in range(int(count)):
            await task.add_artifact([Part(text="x" * int(size))], artifact_id=f"part-{index}")
        if then and then[0] == "ask":
            await task.requires_input()
        else:
            await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


@dataclasses.dataclass(frozen=True)
class Served:
    handler: TemporalRequestHandler

    async def send(self, text: str, *, filler: str = "") -> Task:
        parts = [Part(text=text), *([Part(text=filler)] if filler else [])]
        message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=parts)
        request = SendMessageRequest(message=message, configuration=SendMessageConfiguration())
        sent = await self.handler.on_message_send(request, CALL)
        assert isinstance(sent, Task)
        return sent

    async def get(self, task: Task) -> Task:
        got: Task | None = await self.handler.on_get_task(GetTaskRequest(id=task.id), CALL)
        assert got is not None
        return got


async def _serve(temporal: TemporalServer, converter: DataConverter) -> AsyncGenerator[Served]:
    client = await Client.connect(temporal.address, data_converter=converter)
    queue = f"large-{uuid.uuid4()}"
    card = AgentCard(name=queue, capabilities=AgentCapabilities(streaming=True))
    handler = TemporalRequestHandler(client, agent_card=card, task_queue=queue)
    plugin = A2APlugin(agent_executor=Large(), options=AgentOptions(continue_as_new_after=10))
    async with Worker(client, task_queue=queue, plugins=[plugin]):
        yield Served(handler)
        await handler.aclose()


@pytest.fixture
async def in_history(temporal: TemporalServer) -> AsyncGenerator[Served]:
    async for served in _serve(temporal, DataConverter.default):
        yield served


@pytest.fixture
async def in_files(temporal: TemporalServer, tmp_path: Path) -> AsyncGenerator[Served]:
    converter = stored(DataConverter.default, {"A2A_TEMPORAL_STORAGE": str(tmp_path / "files")})
    async for served in _serve(temporal, converter):
        yield served


@pytest.mark.parametrize("size", [1_790_000, 1_810_000, 4_500_000])
async def test_an_artifact_over_the_limit_fails_its_task_and_says_what_to_set(
    in_history: Served, size: int
) -> None:
    task = await in_history.send(f"1 {size}")

    if size < 1_800_000:
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert len(task.artifacts[0].parts[0].text) == size
    else:
        assert task.status.state == TaskState.TASK_STATE_FAILED
        assert "1800000 bytes" in task.status.message.parts[0].text
        assert "ExternalStorage" in task.status.message.parts[0].text
    assert await in_history.get(task) == task


@pytest.mark.parametrize(("count", "size"), [(40, 300_000), (10, 600_000)])
async def test_many_large_artifacts_leave_a_task_readable_and_cancelable(
    in_history: Served, count: int, size: int
) -> None:
    task = await in_history.send(f"{count} {size} ask")

    assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    assert sum(len(each.parts[0].text) for each in task.artifacts) == count * size
    assert await in_history.get(task) == task
    request = CancelTaskRequest(id=task.id)
    canceled: Task | None = await in_history.handler.on_cancel_task(request, CALL)
    assert canceled is not None
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED


async def test_a_message_over_the_limit_is_refused_before_anything_is_stored(
    in_history: Served,
) -> None:
    with pytest.raises(InvalidParamsError, match="stores at most 1400000"):
        await in_history.send("1 1", filler="y" * 2 * MEGABYTE)
    task = await in_history.send("0 0 ask")
    request = SendMessageRequest(
        message=Message(
            message_id=str(uuid.uuid4()),
            task_id=task.id,
            role=Role.ROLE_USER,
            parts=[Part(text="z" * 2 * MEGABYTE)],
        )
    )
    with pytest.raises(InvalidParamsError, match="stores at most"):
        await in_history.handler.on_message_send(request, CALL)
    assert await in_history.get(task) == task


async def test_metadata_of_the_call_counts_like_the_message(in_history: Served) -> None:
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text="0 0")])
    request = SendMessageRequest(message=message, metadata={"much": "x" * 1_900_000})
    with pytest.raises(InvalidParamsError, match="stores at most"):
        await in_history.handler.on_message_send(request, CALL)


async def test_a_parked_task_with_much_in_it_can_be_canceled(in_history: Served) -> None:
    parts = [Part(text="0 0 ask")]
    first = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=parts)
    request = SendMessageRequest(message=first, metadata={"much": "x" * 1_300_000})
    task = await in_history.handler.on_message_send(request, CALL)
    assert isinstance(task, Task)
    parts.append(Part(text="y" * 1_300_000))
    more = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=parts, task_id=task.id)
    task = await in_history.handler.on_message_send(SendMessageRequest(message=more), CALL)
    assert isinstance(task, Task)
    assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    canceled: Task | None = await in_history.handler.on_cancel_task(
        CancelTaskRequest(id=task.id), CALL
    )
    assert canceled is not None
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED


async def test_a_task_that_no_new_run_can_take_over_stays_in_its_run(in_history: Served) -> None:
    task = await in_history.send("0 0 ask", filler="y" * 1_100_000)
    for _ in range(3):
        message = Message(
            message_id=str(uuid.uuid4()),
            task_id=task.id,
            role=Role.ROLE_USER,
            parts=[Part(text="0 0 ask")],
        )
        answered = await in_history.handler.on_message_send(
            SendMessageRequest(message=message), CALL
        )
        assert isinstance(answered, Task)
        assert answered.status.state == TaskState.TASK_STATE_INPUT_REQUIRED


async def test_external_storage_carries_what_a_history_cannot(in_files: Served) -> None:
    task = await in_files.send(f"2 {5 * MEGABYTE}", filler="y" * 6 * MEGABYTE)

    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert [len(each.parts[0].text) for each in task.artifacts] == [5 * MEGABYTE] * 2
    assert len(task.history[0].parts[1].text) == 6 * MEGABYTE
    assert await in_files.get(task) == task


async def test_stored_content_lies_in_files_and_not_in_temporal(
    in_files: Served, temporal: TemporalServer
) -> None:
    marker = uuid.uuid4().hex
    task = await in_files.send("0 0", filler=marker * (MEGABYTE // len(marker)))

    assert marker in (await in_files.get(task)).history[0].parts[1].text
    assert not temporal.holds(marker)


async def test_a_payload_whose_file_is_gone_is_named(tmp_path: Path) -> None:
    converter = stored(DataConverter.default, {"A2A_TEMPORAL_STORAGE": str(tmp_path)})
    payloads = await converter.encode(["x" * MEGABYTE])
    assert await converter.decode(payloads) == ["x" * MEGABYTE]
    (file,) = await asyncio.to_thread(lambda: [*tmp_path.glob("*/*")])
    await asyncio.to_thread(file.write_bytes, b"damaged")
    with pytest.raises(StoredPayloadError, match="damaged"):
        await converter.decode(payloads)


def test_storage_named_by_nobody_changes_nothing() -> None:
    assert stored(DataConverter.default, {}) is DataConverter.default
    assert FileSystemStorage("anywhere").name() == "a2a-temporal-files"
