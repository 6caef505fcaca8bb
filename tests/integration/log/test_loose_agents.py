"""What agents do with their queue that no interface promises, and that works in `a2a-sdk`."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueueLegacy
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Message, Part, Role, Task, TaskState, TaskStatus
from a2a.types.a2a_pb2 import TaskStatusUpdateEvent as StatusEvent

from tests.support.in_process import Written, running, updater_of
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within

COMPLETED = TaskState.TASK_STATE_COMPLETED


async def test_events_of_another_event_loop_reach_the_log(temporal: TemporalServer) -> None:
    """Sync frameworks call back in threads, where adapters run a loop of their own."""

    async def report(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        for number in range(3):
            await updater.add_artifact(
                [Part(text=f"{number} ")], artifact_id="a", append=number > 0
            )
            await asyncio.sleep(0.01)

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        await asyncio.to_thread(lambda: asyncio.run(report(context, queue)))
        await updater_of(context, queue).complete()

    written = Written(turn)
    async with running(await temporal.client(), written) as agent:
        task = await within(10, agent.send("go"), what="the turn")
    assert task.status.state == COMPLETED
    assert "".join(part.text for part in task.artifacts[0].parts) == "0 1 2 "
    assert written.turns == 1


async def test_an_agent_that_waits_for_its_thread_blocks_nothing_for_ever(
    temporal: TemporalServer,
) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(updater_of(context, queue).reject())).result()

    async with running(await temporal.client(), Written(turn)) as agent:
        task = await within(10, agent.send("go"), what="the turn")
    assert task.status.state == TaskState.TASK_STATE_REJECTED


async def test_an_agent_may_close_its_queue(temporal: TemporalServer) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        await updater_of(context, queue).requires_input()
        assert hasattr(EventQueueLegacy, "close")
        await queue.close()  # pyright: ignore[reportAttributeAccessIssue] # as agents do

    async with running(await temporal.client(), Written(turn)) as agent:
        task = await within(10, agent.send("go"), what="the turn")
    assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED


async def test_messages_without_an_id_are_not_lost(temporal: TemporalServer) -> None:
    def said(text: str) -> Message:
        return Message(role=Role.ROLE_AGENT, parts=[Part(text=text)])

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        task = Task(id=context.task_id or "", history=[said("earlier")])
        task.status.state = TaskState.TASK_STATE_WORKING
        await queue.enqueue_event(task)
        await queue.enqueue_event(task)
        await queue.enqueue_event(StatusEvent(status=TaskStatus(message=said("progress"))))
        task.status.CopyFrom(TaskStatus(state=COMPLETED, message=said("done")))
        await queue.enqueue_event(task)

    async with running(await temporal.client(), Written(turn)) as agent:
        task = await within(10, agent.send("go"), what="the turn")
    texts = [message.parts[0].text for message in [*task.history, task.status.message]]
    assert texts == ["go", "earlier", "progress", "done"]
    assert all(message.message_id for message in task.history)
