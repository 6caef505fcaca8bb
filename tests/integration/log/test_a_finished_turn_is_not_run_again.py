"""A turn that is over stays over, even while the workflow cannot take notice of it."""

from datetime import timedelta

from a2a.server.agent_execution import RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.types.a2a_pb2 import TaskState
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import PollWorkflowTaskQueueRequest
from temporalio.client import Client
from temporalio.worker import Worker

from a2a_temporal import A2APlugin, AgentOptions
from a2a_temporal._worker.agent.activity import AgentActivities
from tests.support.in_process import Scripted, new_task_queue, served
from tests.support.temporal_server import NAMESPACE, TemporalServer
from tests.support.waiting import eventually, steadily, within

OPTIONS = AgentOptions(
    heartbeat_interval=timedelta(seconds=0.5),
    heartbeat_timeout=timedelta(seconds=2),
    retry_interval=timedelta(seconds=0.1),
)


class Counting(Scripted):
    """Counts how often it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.calls += 1
        await super().execute(context, event_queue)


def worker(client: Client, queue: str, agent: Scripted, *, runs: str) -> Worker:
    """Return a worker for the workflows only, or for the turns only."""
    return Worker(
        client,
        task_queue=queue,
        plugins=[A2APlugin(agent_executor=agent, options=OPTIONS)],
        no_remote_activities=runs == "workflows",
        disable_eager_activity_execution=True,
        max_cached_workflows=0,
        max_concurrent_workflow_task_polls=1,
    )


async def take_a_workflow_task(client: Client, queue: str) -> str:
    """Take it as a worker would that is killed right then; returns whose it was."""
    taken = await client.workflow_service.poll_workflow_task_queue(
        PollWorkflowTaskQueueRequest(
            namespace=NAMESPACE, task_queue=TaskQueue(name=queue), identity="killed"
        ),
        timeout=timedelta(seconds=15),
    )
    return taken.workflow_execution.workflow_id


async def test_while_a_dead_workers_workflow_task_runs_out(temporal: TemporalServer) -> None:
    """What is signaled meanwhile is not in the history yet, so no attempt could read it there."""
    client = await temporal.client()
    queue, agent = new_task_queue(), Counting()
    async with served(client, queue) as server:
        turns = Worker(
            client,
            task_queue=queue,
            activities=[AgentActivities(agent, OPTIONS).run_agent],
        )
        async with turns:
            async with worker(client, queue, agent, runs="workflows"):
                task_id = await server.start("gate say:going pause:1 chunks:2")
                await eventually(lambda: agent.calls, within=30)
            agent.gate.set()
            taken = await within(30, take_a_workflow_task(client, queue))
            assert taken == task_id
            await steadily(lambda: _once(agent), during=7)

            async with worker(client, queue, agent, runs="workflows"):

                async def completed() -> bool:
                    state = (await server.get(task_id)).status.state
                    return state == TaskState.TASK_STATE_COMPLETED

                await eventually(completed, within=20)
                _once(agent)


def _once(agent: Counting) -> None:
    assert agent.calls == 1
