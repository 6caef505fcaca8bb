"""A reset keeps what was signaled, an agent's events too: the turns of before still count."""

from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Task, TaskState
from temporalio.client import Client
from temporalio.worker import Worker

from a2a_temporal.activity import current_turn
from tests.support.in_process import Scripted, Served, agent_worker, new_task_queue, served
from tests.support.resets import reset_to_the_start
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually


class Counting(Scripted):
    """Notes which turns it was given, and which attempt at them."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[int, int]] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        turn = current_turn()
        self.given.append((turn.turn, turn.attempt))
        await super().execute(context, event_queue)


async def test_what_an_attempt_had_built_before_is_built_anew(temporal: TemporalServer) -> None:
    client, queue, scripted = await temporal.client(), new_task_queue(), Counting()
    async with _worker(client, queue, scripted), served(client, queue) as agent:
        task_id = await agent.start("chunks:2 gate chunks:1")
        await eventually(lambda: _chunks(agent, task_id, 2), within=20)
        await reset_to_the_start(client, task_id)
        await eventually(lambda: len(scripted.given) == 2, within=20, what="the second attempt")
        scripted.gate.set()
        task = await eventually(lambda: _completed(agent, task_id), within=20)
        assert _texts(task) == ["1.0 ", "1.1 ", "1.0 "]
        assert scripted.given == [(1, 1), (1, 2)]


async def test_turns_that_were_over_are_not_run_again(temporal: TemporalServer) -> None:
    client, queue, scripted = await temporal.client(), new_task_queue(), Counting()
    async with _worker(client, queue, scripted), served(client, queue) as agent:
        task_id = (await agent.send("chunks:1 ask")).id
        await agent.send("chunks:1 gate chunks:1", task_id=task_id, wait=False)
        await eventually(lambda: _chunks(agent, task_id, 2), within=20)
        await reset_to_the_start(client, task_id)
        await eventually(lambda: len(scripted.given) == 3, within=20, what="the third attempt")
        scripted.gate.set()
        task = await eventually(lambda: _completed(agent, task_id), within=20)
        assert _texts(task) == ["1.0 ", "2.0 ", "2.0 "]
        assert scripted.given == [(1, 1), (2, 1), (2, 2)]


async def test_a_turn_that_was_over_stays_over(temporal: TemporalServer) -> None:
    client, queue, scripted = await temporal.client(), new_task_queue(), Counting()
    async with _worker(client, queue, scripted), served(client, queue) as agent:
        task_id = (await agent.send("chunks:1 ask")).id
        await reset_to_the_start(client, task_id)
        task = await agent.send("chunks:1", task_id=task_id)
        assert _texts(task) == ["1.0 ", "2.0 "]
        assert scripted.given == [(1, 1), (2, 1)]


def _worker(client: Client, queue: str, agent: Scripted) -> Worker:
    return agent_worker(client, queue, agent=agent, cached=False)


async def _chunks(agent: Served, task_id: str, number: int) -> bool:
    return len(_texts(await agent.get(task_id))) == number


async def _completed(agent: Served, task_id: str) -> Task | None:
    task = await agent.get(task_id)
    return task if task.status.state == TaskState.TASK_STATE_COMPLETED else None


def _texts(task: Task) -> list[str]:
    return [part.text for each in task.artifacts for part in each.parts]
