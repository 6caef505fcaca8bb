"""Data nested deeper than protobuf can read is refused at every door, and wedges nothing."""

import pytest
from a2a.types.a2a_pb2 import Message, Task, TaskState
from a2a.utils.errors import InvalidParamsError

from a2a_temporal._log.protojson import from_json
from a2a_temporal._log.wire import MESSAGE_SIGNAL
from tests.support.in_process import CALL, new_task_queue, request, running, served
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within


async def test_a_message_that_is_nested_too_deeply_is_refused(temporal: TemporalServer) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    async with served(client, queue) as agent:
        deep = request("say:a")
        from_json({"data": _nested(40)}, deep.message.parts.add())
        with pytest.raises(InvalidParamsError, match="nested too deeply"):
            await agent.handler.on_message_send(deep, CALL)


async def test_a_signal_that_is_nested_too_deeply_is_skipped(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with running(client) as agent:
        task_id = (await agent.send("ask")).id
        signal = {"message": {"messageId": "deep", "parts": [{"data": _nested(40)}]}}
        await client.get_workflow_handle(task_id).signal(MESSAGE_SIGNAL, signal)
        answer: Task = await within(20, agent.send("say:a", task_id=task_id), what="the answer")
        assert answer.status.state == TaskState.TASK_STATE_COMPLETED
        assert len(answer.history) == 4


async def test_a_task_takes_what_is_just_not_too_deep(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with running(client) as agent:
        deep = request("say:a")
        from_json({"data": _nested(30)}, deep.message.parts.add())
        answer: Task | Message = await within(20, agent.handler.on_message_send(deep, CALL))
        assert isinstance(answer, Task)
        assert answer.status.state == TaskState.TASK_STATE_COMPLETED
        assert answer.history[0].parts[1] == deep.message.parts[1]


def _nested(levels: int) -> object:
    value: object = "bottom"
    for _ in range(levels):
        value = {"a": value}
    return value
