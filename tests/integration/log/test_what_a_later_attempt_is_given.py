"""An attempt is given the task as it was before the lost one, whose work it does again."""

import uuid
from datetime import timedelta

from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Part, Role, Task
from a2a.types.a2a_pb2 import TaskStatusUpdateEvent as StatusEvent
from google.protobuf.struct_pb2 import Struct

from a2a_temporal import AgentOptions
from a2a_temporal.activity import current_turn
from a2a_temporal.errors import RetryableError
from tests.support.in_process import (
    Written,
    running,
    updater_of,
)
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within

SOON = AgentOptions(retry_interval=timedelta(seconds=0.1))


async def test_an_agent_that_shows_its_task_first_brings_back_nothing_that_was_lost(
    temporal: TemporalServer,
) -> None:
    given: list[Task] = []

    async def turn(context: RequestContext, events: EventQueue) -> None:
        updater = updater_of(context, events)
        if context.current_task is not None:
            shown = Task()
            shown.CopyFrom(context.current_task)
            given.append(shown)
            await events.enqueue_event(context.current_task)
        if context.get_user_input() == "begin":
            await updater.add_artifact([Part(text="kept")], artifact_id="kept")
            await updater.requires_input(updater.new_agent_message([Part(text="What?")]))
            return
        attempt = current_turn().attempt
        words = updater.new_agent_message([Part(text=f"attempt {attempt}")])
        await updater.start_work(words)
        await events.enqueue_event(
            StatusEvent(
                task_id=updater.task_id,
                context_id=updater.context_id,
                metadata=_struct(**{f"attempt-{attempt}": True}),
            )
        )
        await updater.add_artifact([Part(text=f"{attempt}")], artifact_id=str(uuid.uuid4()))
        await updater.add_artifact([Part(text=f" {attempt}")], artifact_id="kept", append=True)
        if attempt == 1:
            raise RetryableError("once more")

    client = await temporal.client()
    async with running(client, Written(turn), options=SOON) as agent:
        task_id = (await within(20, agent.send("begin"))).id
        task = await within(20, agent.send("go on", task_id=task_id), what="the second attempt")
    assert [[part.text for part in each.parts] for each in task.artifacts] == [
        ["kept", " 2"],
        ["2"],
    ]
    said = [each.parts[0].text for each in task.history if each.role == Role.ROLE_AGENT]
    assert said == ["What?", "attempt 2"]
    assert dict(task.metadata) == {"attempt-2": True}
    _, second = given
    assert _texts(second) == [["kept"]]


def _texts(task: Task) -> list[list[str]]:
    return [[part.text for part in each.parts] for each in task.artifacts]


def _struct(**fields: bool) -> Struct:
    struct = Struct()
    struct.update(fields)
    return struct
