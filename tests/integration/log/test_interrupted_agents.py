"""What an agent says of being interrupted counts when it was canceled, and only then."""

import asyncio

from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Part, Task, TaskState

from a2a_temporal._reading.reader import read_log
from tests.support.in_process import (
    Turn,
    Written,
    agent_worker,
    new_task_queue,
    running,
    served,
    updater_of,
)
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

CANCELED, COMPLETED = TaskState.TASK_STATE_CANCELED, TaskState.TASK_STATE_COMPLETED


async def test_a_worker_that_stops_cancels_no_task_whose_agent_says_so(
    temporal: TemporalServer,
) -> None:
    """`except CancelledError: await updater.cancel()` is what many agents do."""
    client = await temporal.client()
    queue = new_task_queue()
    begun, go_on = asyncio.Event(), asyncio.Event()
    interruptions: list[str] = []

    async def turn(context: RequestContext, events: EventQueue) -> None:
        updater = updater_of(context, events)
        begun.set()
        try:
            await go_on.wait()
        except asyncio.CancelledError:
            await updater.cancel()
            await asyncio.sleep(0.5)  # cleans up, long enough for an event to leave
            interruptions.append(updater.task_id)
            raise
        await updater.complete()

    async with served(client, queue) as agent:
        async with agent_worker(client, queue, agent=Written(turn)):
            task_id = await agent.start("go")
            await within(30, begun.wait())
        assert interruptions == [task_id]
        assert not (await read_log(client, task_id)).terminal
        go_on.set()
        async with agent_worker(client, queue, agent=Written(turn)):

            async def completed() -> bool:
                return (await agent.get(task_id)).status.state == COMPLETED

            await eventually(completed, within=20)


async def _canceled(temporal: TemporalServer, cancel: Turn) -> list[str]:
    """Cancel an agent at work; return the ids of its artifacts."""
    begun = asyncio.Event()

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        await updater_of(context, queue).start_work()
        begun.set()
        await asyncio.sleep(60)

    async with running(await temporal.client(), Written(turn, cancel=cancel)) as agent:
        task_id = await agent.start("go")
        await within(30, begun.wait())

        async def working() -> bool:
            return (await agent.get(task_id)).status.state == TaskState.TASK_STATE_WORKING

        await eventually(working, within=30)
        task = await within(15, agent.cancel(task_id), what="the cancel")
        assert task is not None
        assert task.status.state == CANCELED
        return [artifact.artifact_id for artifact in task.artifacts]


async def _publish(context: RequestContext, queue: EventQueue) -> None:
    await updater_of(context, queue).add_artifact([Part(text="half")], artifact_id="half")


async def test_a_cancel_may_await_what_it_has_canceled(temporal: TemporalServer) -> None:
    """What it awaits raises CancelledError, which is no cancel of the worker's."""

    async def cancel(context: RequestContext, queue: EventQueue) -> None:
        await _publish(context, queue)
        work = asyncio.create_task(asyncio.sleep(60))
        work.cancel()
        await work

    assert await _canceled(temporal, cancel) == ["half"]


async def test_a_cancel_that_exits_ends_no_worker(temporal: TemporalServer) -> None:
    async def cancel(context: RequestContext, queue: EventQueue) -> None:
        await _publish(context, queue)
        raise SystemExit(3)

    assert await _canceled(temporal, cancel) == ["half"]


async def test_a_cancel_is_given_the_task(temporal: TemporalServer) -> None:
    """Many agents do nothing without one, and the first turn began without one."""
    given: list[Task | None] = []

    async def cancel(context: RequestContext, queue: EventQueue) -> None:
        given.append(context.current_task)

    await _canceled(temporal, cancel)
    (task,) = given
    assert task is not None
    assert task.status.state == TaskState.TASK_STATE_WORKING
    assert [message.parts[0].text for message in task.history] == ["go"]


async def test_a_cancel_of_a_waiting_task_is_given_what_the_client_said_last(
    temporal: TemporalServer,
) -> None:
    given: list[str] = []

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        await updater.start_work(updater.new_agent_message([Part(text="I look")]))
        await updater.requires_input(updater.new_agent_message([Part(text="What?")]))

    async def cancel(context: RequestContext, queue: EventQueue) -> None:
        given.append(context.get_user_input())

    async with running(await temporal.client(), Written(turn, cancel=cancel)) as agent:
        asked = await within(30, agent.send("go"))
        asked = await within(30, agent.send("this", task_id=asked.id))
        task = await within(15, agent.cancel(asked.id), what="the cancel")
    assert task is not None
    assert task.status.state == CANCELED
    assert given == ["this"]


async def test_a_cancel_right_after_a_question_is_told_the_agent_once(
    temporal: TemporalServer,
) -> None:
    told: list[str] = []

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        await updater.requires_input(updater.new_agent_message([Part(text="What?")]))
        await asyncio.sleep(0.05)

    async def cancel(context: RequestContext, queue: EventQueue) -> None:
        told.append(str(context.task_id))

    async with running(await temporal.client(), Written(turn, cancel=cancel)) as agent:

        async def ask_and_cancel() -> str:
            asked = await agent.send("go")
            assert await agent.cancel(asked.id) is not None
            return asked.id

        ids = await within(60, asyncio.gather(*(ask_and_cancel() for _ in range(12))))
        await eventually(lambda: sorted(told) == sorted(ids), within=30, what=f"{told}")
