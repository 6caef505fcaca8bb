"""What agents do with their queue that no interface promises, and that works in `a2a-sdk`."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Message, Part, Role, Task, TaskState, TaskStatus
from a2a.types.a2a_pb2 import TaskStatusUpdateEvent as StatusEvent

from a2a_temporal._worker.agent.event_queue import PublishingQueue
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
        task = await within(30, agent.send("go"), what="the turn")
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
        task = await within(30, agent.send("go"), what="the turn")
    assert task.status.state == TaskState.TASK_STATE_REJECTED


async def test_an_agent_may_close_its_queue(temporal: TemporalServer) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        await updater_of(context, queue).requires_input()
        assert isinstance(queue, PublishingQueue)
        assert not queue.is_closed()
        await queue.close(immediate=True)

    async with running(await temporal.client(), Written(turn)) as agent:
        task = await within(30, agent.send("go"), what="the turn")
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
        task = await within(30, agent.send("go"), what="the turn")
    texts = [message.parts[0].text for message in [*task.history, task.status.message]]
    assert texts == ["go", "earlier", "progress", "done"]
    assert all(message.message_id for message in task.history)


async def test_events_take_the_ids_of_their_task(temporal: TemporalServer) -> None:
    """An agent that hands on what another one says need not rewrite it."""

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        asked = Message(message_id="m", task_id="other", context_id="other", role=Role.ROLE_AGENT)
        status = TaskStatus(state=TaskState.TASK_STATE_INPUT_REQUIRED, message=asked)
        await queue.enqueue_event(Task(id="other", context_id="other", history=[asked]))
        await queue.enqueue_event(StatusEvent(task_id="other", context_id="other", status=status))

    async with running(await temporal.client(), Written(turn)) as agent:
        events = [event async for event in agent.stream("go")]
    assert isinstance(events[0], Task)
    ids = (events[0].id, events[0].context_id)
    assert "other" not in ids
    for event in events[1:]:
        assert isinstance(event, Task | StatusEvent), event
        task_id = event.id if isinstance(event, Task) else event.task_id
        messages = [event.status.message]
        if isinstance(event, Task):
            messages += event.history
        named = {(m.task_id, m.context_id) for m in messages if m.message_id}
        assert (task_id, event.context_id) == ids
        assert named <= {ids}, event


async def test_a_direct_message_names_no_other_task(temporal: TemporalServer) -> None:
    async def turn(_: RequestContext, queue: EventQueue) -> None:
        said = Message(message_id="m", task_id="other", context_id="other", role=Role.ROLE_AGENT)
        await queue.enqueue_event(said)

    async with running(await temporal.client(), Written(turn)) as agent:
        (reply,) = [event async for event in agent.stream("go")]
    assert isinstance(reply, Message)
    assert "other" not in (reply.task_id, reply.context_id)
