"""History is what a user pays for: a task takes as little of it as it can.

The figures of docs/scale.md are counted here, on the Temporal server and in the clients.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import Part
from temporalio.client import Client
from temporalio.runtime import MetricBuffer, Runtime, TelemetryConfig

from tests.support.cluster import Cluster
from tests.support.in_process import (
    Served,
    Written,
    agent_worker,
    new_task_queue,
    served,
    updater_of,
)
from tests.support.results import state
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually


async def test_a_task_of_one_turn_takes_eleven_history_events(cluster: Cluster) -> None:
    task = await cluster.caller.send_task("echo hello")
    assert state(task) == "COMPLETED"

    async def closed() -> bool:
        return (await cluster.workflow(task["id"]).describe()).close_time is not None

    await eventually(closed, within=30)
    events = [event async for event in cluster.workflow(task["id"]).fetch_history_events()]

    # Start; the workflow task that begins the turn; the turn; its entry; the workflow task that
    # ends the task on it, with the search attributes.
    assert len(events) == 11, [event.event_type for event in events]


async def test_a_task_of_one_turn_costs_what_the_documents_say(temporal: TemporalServer) -> None:
    async with _counting(temporal) as counting:
        cost = await counting.cost_of("1 0")
    assert cost.events == 11
    assert 2_600 <= cost.bytes <= 3_800, cost
    assert cost.transitions == 6
    assert cost.served == {
        "StartWorkflowExecution": 1,
        "GetWorkflowExecutionHistory": cost.served["GetWorkflowExecutionHistory"],
    }
    assert cost.served["GetWorkflowExecutionHistory"] <= 4  # one for each page of what is new
    assert cost.worked == {
        "RespondWorkflowTaskCompleted": 2,
        "SignalWorkflowExecution": 1,
    }


async def test_a_streamed_task_costs_what_the_documents_say(temporal: TemporalServer) -> None:
    """A turn of ten seconds and twenty batches, and the one that ends it."""
    async with _counting(temporal) as counting:
        cost = await counting.cost_of("20 0.5")
    # A busy machine may make one batch of two, and one workflow task of two batches.
    batches = cost.worked["SignalWorkflowExecution"]
    assert 18 <= batches <= 22, cost
    beats = cost.worked["RecordActivityTaskHeartbeat"]
    assert 8 <= beats <= 12, cost
    _about(cost.events, 12 + 4 * (batches - 1), cost)
    _about(cost.transitions, 7 + 3 * (batches - 1) + beats, cost)
    _about(cost.worked["RespondWorkflowTaskCompleted"], 1 + batches, cost)
    assert 14_000 <= cost.bytes <= 18_000, cost
    assert cost.served["GetWorkflowExecutionHistory"] <= 3 * batches + 4, cost


def _about(found: int, expected: int, cost: "_Cost") -> None:
    assert 0.85 * expected <= found <= expected + 2, (found, expected, cost)


@dataclass(frozen=True)
class _Cost:
    """What Temporal counts of a task, and the calls of its server and its worker, by name.

    Long polls for work are left out: a worker makes them whether there is a task or not.
    """

    events: int
    bytes: int
    transitions: int
    served: Mapping[str, int]
    worked: Mapping[str, int]


class _Calls:
    """A client in a runtime of its own, and the calls it has made."""

    def __init__(self, client: Client, buffer: MetricBuffer) -> None:
        self.client = client
        self.made: Counter[str] = Counter()
        self._buffer = buffer

    @staticmethod
    async def connect(server: TemporalServer) -> "_Calls":
        buffer = MetricBuffer(10_000)
        runtime = Runtime(telemetry=TelemetryConfig(metrics=buffer))
        return _Calls(await Client.connect(server.address, runtime=runtime), buffer)

    def count(self) -> Counter[str]:
        """Count what was called since, and return all that was."""
        for update in self._buffer.retrieve_updates():
            if update.metric.name == "temporal_request":
                self.made[str(update.attributes["operation"])] += int(update.value)
        return self.made

    def forget(self) -> None:
        self.count()
        self.made.clear()


class _Counting:
    """An agent between a server and a worker whose calls are counted."""

    def __init__(self, agent: Served, server: _Calls, worker: _Calls, other: Client) -> None:
        self._agent = agent
        self._server = server
        self._worker = worker
        self._other = other

    async def cost_of(self, text: str) -> _Cost:
        """Have a task done, as the second one, and return what it cost."""
        await self._done("1 0")
        for calls in (self._server, self._worker):
            calls.forget()
        task_id = await self._done(text)
        described = await self._other.get_workflow_handle(task_id).describe()
        info = described.raw_description.workflow_execution_info
        return _Cost(
            info.history_length,
            info.history_size_bytes,
            info.state_transition_count,
            dict(self._server.count()),
            dict(self._worker.count()),
        )

    async def _done(self, text: str) -> str:
        """Have a task done, to the end of its workflow, and return its id."""
        task = await self._agent.send(text)
        workflow = self._other.get_workflow_handle(task.id)

        async def over() -> bool:
            return (await workflow.describe()).close_time is not None

        await eventually(over, within=20)
        return task.id


@asynccontextmanager
async def _counting(temporal: TemporalServer) -> AsyncGenerator[_Counting]:
    server, worker = [await _Calls.connect(temporal) for _ in range(2)]
    queue = new_task_queue()
    async with (
        agent_worker(worker.client, queue, agent=Written(_publish)),
        served(server.client, queue) as agent,
    ):
        yield _Counting(agent, server, worker, await temporal.client())


async def _publish(context: RequestContext, queue: EventQueue) -> None:
    """Publish as many chunks, so many seconds apart, as a message says."""
    updater = updater_of(context, queue)
    number, pause = context.get_user_input().split()
    await updater.start_work()
    for index in range(int(number)):
        parts = [Part(text="a chunk of text")]
        await updater.add_artifact(parts, artifact_id="text", append=index > 0)
        await asyncio.sleep(float(pause))
    await updater.complete()
