"""A resumed stream that is open for long keeps nothing of what it told at its beginning."""

import gc
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import SubscribeToTaskRequest, Task

from a2a_temporal._reading.position import LogEvent, LogPosition
from a2a_temporal._server.resume import CURSOR_PARAMETER, URI
from tests.support.in_process import agent_worker, new_task_queue, request, served
from tests.support.streams import next_of, watching
from tests.support.temporal_server import TemporalServer

CHUNKS = 200


async def test_what_was_missed_is_forgotten_when_it_is_told(temporal: TemporalServer) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    async with agent_worker(client, queue), served(client, queue) as agent:
        call = ServerCallContext(requested_extensions={URI})
        stream = agent.handler.on_message_send_stream(request(f"chunks:{CHUNKS} ask"), call)
        task = await next_of(stream)
        assert isinstance(task, Task)
        async with watching(stream) as sent:
            await sent.end()
        place: Any = task.metadata[URI]
        cursor = str(place["cursor"])
        call.state["headers"] = {CURSOR_PARAMETER: cursor}
        async with served(client, queue) as other:
            subscription = SubscribeToTaskRequest(id=task.id)
            async with watching(other.handler.on_subscribe_to_task(subscription, call)) as resumed:
                await resumed.until(len(sent.events))
                # Not isinstance(), which some objects of the workflow sandbox do not let through.
                kept = [each for each in gc.get_objects() if type(each) in (LogEvent, LogPosition)]
                assert len(kept) < CHUNKS / 4
                resumed_events = list(resumed.events)
    assert resumed_events == sent.events
