"""Many agents begin each turn with the Task they were given: that asks nothing again."""

from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Part, Task, TaskState
from a2a.types.a2a_pb2 import TaskStatusUpdateEvent as StatusEvent
from temporalio.client import Client

from a2a_temporal._reading.reader import read_log
from tests.support.in_process import Written, running, updater_of
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within

ASKS, COMPLETED = TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_COMPLETED


def _showing(client: Client) -> Written:
    """Return an agent that asks, and then shows its question before it goes on."""

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        task = context.current_task
        if task is None:
            await updater.requires_input(updater.new_agent_message([Part(text="What?")]))
            return
        await queue.enqueue_event(task)
        await updater.add_artifact([Part(text="the answer")], artifact_id="answer")

        async def shown() -> bool:
            return bool((await read_log(client, updater.task_id)).task.artifacts)

        await eventually(shown, within=30, what="what the agent has shown")
        await updater.complete()

    return Written(turn)


async def test_a_blocking_answer_is_that_of_its_own_turn(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with running(client, _showing(client)) as agent:
        asked = await within(30, agent.send("go"))
        assert asked.status.state == ASKS
        task = await within(30, agent.send("this", task_id=asked.id), what="the answer")
    assert task.status.state == COMPLETED
    assert [artifact.artifact_id for artifact in task.artifacts] == ["answer"]


async def test_a_stream_does_not_end_at_the_old_question(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with running(client, _showing(client)) as agent:
        asked = await within(30, agent.send("go"))

        async def last_event() -> object:
            events = [event async for event in agent.stream("this", task_id=asked.id)]
            return events[-1]

        last = await within(30, last_event(), what="the stream")
    assert isinstance(last, StatusEvent), last
    assert last.status.state == COMPLETED


async def test_a_question_kept_in_memory_is_no_news_either(temporal: TemporalServer) -> None:
    kept = Task()

    async def turn(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        first = not kept.id
        if first:
            kept.id, kept.context_id = updater.task_id, updater.context_id
            kept.status.state = ASKS
            kept.status.message.CopyFrom(updater.new_agent_message([Part(text="What?")]))
        await queue.enqueue_event(kept)
        if not first:
            await updater.complete()

    async with running(await temporal.client(), Written(turn)) as agent:
        asked = await within(30, agent.send("go"))
        assert asked.status.message.parts[0].text == "What?"
        task = await within(30, agent.send("this", task_id=asked.id), what="the answer")
    assert task.status.state == COMPLETED
    assert [message.parts[0].text for message in task.history] == ["go", "What?", "this"]


async def test_who_only_shows_the_question_again_still_asks(temporal: TemporalServer) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        if context.current_task is None:
            await updater.requires_input(updater.new_agent_message([Part(text="What?")]))
        else:
            await queue.enqueue_event(context.current_task)

    async with running(await temporal.client(), Written(turn)) as agent:
        asked = await within(30, agent.send("go"))
        task = await within(30, agent.send("what?", task_id=asked.id), what="the answer")
        assert task.status.state == ASKS
        task = await within(30, agent.send("what??", task_id=asked.id), what="the answer")
    assert task.status.state == ASKS


async def test_a_new_question_within_a_task_is_asked(temporal: TemporalServer) -> None:
    async def turn(context: RequestContext, queue: EventQueue) -> None:
        updater = updater_of(context, queue)
        task = context.current_task or Task(id=updater.task_id)
        task.status.state = ASKS
        task.status.message.CopyFrom(updater.new_agent_message([Part(text="And now?")]))
        await queue.enqueue_event(task)

    async with running(await temporal.client(), Written(turn)) as agent:
        asked = await within(30, agent.send("go"))
        task = await within(30, agent.send("this", task_id=asked.id), what="the answer")
    assert task.status.state == ASKS
    assert task.status.message.message_id != asked.status.message.message_id
