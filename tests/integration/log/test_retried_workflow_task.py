"""Temporal shows a workflow task it tries again as events that the history does not hold yet.

What is written next takes their ids, and must be read all the same.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.types.a2a_pb2 import (
    Message,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.struct_pb2 import Struct
from temporalio.api.enums.v1 import EventType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    PollWorkflowTaskQueueRequest,
    RespondWorkflowTaskFailedRequest,
)
from temporalio.client import Client

from a2a_temporal._gateway import Gateway
from a2a_temporal._log import wire
from a2a_temporal._log.protojson import event_to_json
from a2a_temporal._reading.cache import Logs
from a2a_temporal._reading.pages import history_events
from a2a_temporal._server.resume import CURSOR_PARAMETER, URI
from a2a_temporal._server.waiting import Tail, read_waiting
from a2a_temporal._worker.push.notifications import NotificationLog
from tests.support.in_process import Served, agent_worker, new_task_queue, served
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within


@asynccontextmanager
async def _begun(client: Client) -> AsyncGenerator[tuple[Served, str]]:
    """A task that no worker has looked at yet."""
    queue = new_task_queue()
    async with served(client, queue) as agent:
        yield agent, await agent.start("chunks:2 ask")


async def _fail_workflow_task(client: Client, agent: Served, task_id: str) -> None:
    """Take the task's workflow task, fail it, and leave its repetition to nobody."""
    service = client.workflow_service
    polled = await service.poll_workflow_task_queue(
        PollWorkflowTaskQueueRequest(
            namespace=client.namespace, task_queue=TaskQueue(name=agent.task_queue)
        )
    )
    await service.respond_workflow_task_failed(
        RespondWorkflowTaskFailedRequest(namespace=client.namespace, task_token=polled.task_token)
    )
    shown = [event async for event in history_events(Gateway(client), task_id, "")]
    written = (await client.get_workflow_handle(task_id).describe()).history_length
    assert shown[-1].event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED
    assert shown[-1].event_id == written + 1


async def test_a_message_shows_that_takes_such_an_id(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with _begun(client) as (agent, task_id):
        await _fail_workflow_task(client, agent, task_id)
        async with aclosing(agent.subscribe(task_id)) as stream:
            assert isinstance(await anext(stream), Task)
            sent = await within(5, agent.send("chunks:1", task_id=task_id, wait=False))
            assert sent.history[-1].parts[0].text == "chunks:1"
            async with agent_worker(client, agent.task_queue):
                rest = await within(30, _all(stream), what="the stream's end")
    chunks = [event for event in rest if isinstance(event, TaskArtifactUpdateEvent)]
    assert len(chunks) == 3


async def test_an_event_is_streamed_that_takes_such_an_id(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with _begun(client) as (agent, task_id):
        await _fail_workflow_task(client, agent, task_id)
        async with aclosing(_places(agent, task_id)) as stream:
            seen = await within(5, anext(stream))
            await client.get_workflow_handle(task_id).signal(wire.EVENTS_SIGNAL, _progress())
            said = await within(5, anext(stream))
        async with aclosing(_places(agent, task_id, after=seen)) as resumed:
            assert await within(5, anext(resumed)) == said


async def test_a_receiver_is_told_of_an_event_that_takes_such_an_id(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    async with _begun(client) as (agent, task_id):
        workflow = client.get_workflow_handle(task_id)
        await workflow.signal(wire.PUSH_CONFIG_SIGNAL, _CONFIG)
        await _fail_workflow_task(client, agent, task_id)
        log = NotificationLog(client, task_id, (await workflow.describe()).run_id)
        await log.read()
        (receiver,) = log.configs.values()
        told = log.next
        await workflow.signal(wire.EVENTS_SIGNAL, _progress())
        await log.read()
        assert len(log.pending(receiver, told)) == 1


async def test_the_inbox_notices_what_takes_such_an_id(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with _begun(client) as (agent, task_id):
        await _fail_workflow_task(client, agent, task_id)
        logs = Logs(client, watching=Tail)
        before = (await read_waiting(logs, task_id)).version
        await client.get_workflow_handle(task_id).signal(wire.EVENTS_SIGNAL, _progress())
        assert (await read_waiting(logs, task_id)).version != before


_AT = "2026-01-02T12:00:00.000Z"
_CONFIG: dict[str, Any] = {
    "version": wire.LOG_VERSION,
    "set": {"id": "c", "url": "https://example.org/hook"},
    "at": _AT,
}


def _progress() -> dict[str, Any]:
    """What an agent's activity signals when it reports progress."""
    event = TaskStatusUpdateEvent(status=TaskStatus(state=TaskState.TASK_STATE_WORKING))
    return {
        "version": wire.LOG_VERSION,
        "turn": 1,
        "attempt": 1,
        "sequence": 1,
        "events": [event_to_json(event)],
        "at": _AT,
        "done": False,
    }


async def _all(stream: AsyncGenerator[Event]) -> list[Event]:
    return [event async for event in stream]


async def _places(agent: Served, task_id: str, *, after: str = "") -> AsyncGenerator[str]:
    """Subscribe with the resumable-streams extension; yields the cursor of each event."""
    context = ServerCallContext(requested_extensions={URI})
    context.state["headers"] = {CURSOR_PARAMETER: after}
    request = SubscribeToTaskRequest(id=task_id)
    async for event in agent.handler.on_subscribe_to_task(request, context):
        assert not isinstance(event, Message)
        place = event.metadata[URI]
        assert isinstance(place, Struct)
        yield str(place["cursor"])
