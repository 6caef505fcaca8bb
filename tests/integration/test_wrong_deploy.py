"""A wrong version of the worker is deployed and rolled back: no task is lost by it (T9)."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from a2a.types.a2a_pb2 import Task, TaskState
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.worker import Worker

from a2a_temporal import A2APlugin, AgentOptions, HandlerOptions, TemporalRequestHandler
from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart
from a2a_temporal._worker.agent.activity import AgentActivities
from a2a_temporal._worker.agent.loop import AgentLoop
from a2a_temporal._worker.task.task_log import TaskLog
from a2a_temporal.workflow import TaskRun
from tests.support.calls import all_of
from tests.support.in_process import CARD, Scripted, Served, agent_worker, new_task_queue, served
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, steadily

# In every run a few; `make long` runs the full size.
FEW, MANY = 4, 20
SIZES = [FEW, pytest.param(MANY, marks=[pytest.mark.long, pytest.mark.timeout(600)])]
WRONG_FOR = 4.0
# A workflow task that a wrong worker has taken runs into its time-out, 10 s, before it is given to
# another; after several such the server waits longer still.
RECOVERS_WITHIN = 90.0

OPTIONS = HandlerOptions(
    cancel_wait=timedelta(seconds=1), direct_message_wait=timedelta(seconds=0.05)
)
QUICK = AgentOptions(
    heartbeat_timeout=timedelta(seconds=2), heartbeat_interval=timedelta(seconds=0.5)
)
RUNNING = WorkflowExecutionStatus.RUNNING


@workflow.defn(name=wire.AGENT_WORKFLOW, sandboxed=False)
class WrongAgentWorkflow:
    """The built-in workflow as nobody may change it: a step before the steps that were recorded."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self._log = TaskLog(start)
        self._turns = AgentLoop(self._log)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        await workflow.sleep(1)
        await self._turns.run(self._log.inbox)


@activity.defn
async def pay() -> None:
    """Pay."""


async def _pay() -> None:
    await workflow.execute_activity(pay, start_to_close_timeout=timedelta(seconds=10))


@workflow.defn(name="Payment", sandboxed=False)
class Payment:
    """What an author wrote: ask, then pay."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        await self.task.require_input("Pay?")
        await _pay()
        return "paid"


@workflow.defn(name="Payment", sandboxed=False)
class WrongPayment:
    """What they deployed next, with an activity before the question."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        await _pay()
        await self.task.require_input("Pay?")
        return "paid"


@pytest.mark.parametrize("many", SIZES)
async def test_agents_tasks_outlive_a_wrong_deploy(temporal: TemporalServer, many: int) -> None:
    client = await temporal.client()
    queue, scripted = new_task_queue(), Scripted()
    wrong = AgentActivities(scripted, QUICK)
    async with served(client, queue, OPTIONS) as agent:
        async with agent_worker(client, queue, agent=scripted, options=QUICK):
            parked = await all_of(*(agent.send("chunks:2 ask") for _ in range(many)))
            working = await all_of(*(agent.start("say:go chunks:2 gate") for _ in range(many)))
            await eventually(lambda: _all_work(agent, working), within=30)

        async with Worker(
            client,
            task_queue=queue,
            workflows=[WrongAgentWorkflow],
            activities=[wrong.run_agent, wrong.cancel_agent],
            plugins=[A2APlugin(options=QUICK)],
        ):
            scripted.gate.set()
            canceled, terminated, *answered = [task.id for task in parked]
            for task_id in answered:
                await agent.send("say:on", task_id=task_id, wait=False)
            await _nothing_fails(client, agent, [canceled, terminated, *answered, *working])
            assert _state(await agent.cancel(canceled)) == "INPUT_REQUIRED"
            await client.get_workflow_handle(terminated).terminate()
            await eventually(lambda: _is(agent, terminated, "FAILED"), within=5)

        async with agent_worker(client, queue, agent=scripted, options=QUICK):
            await _recover(client, agent, {canceled: "CANCELED"})
            await _recover(client, agent, dict.fromkeys([*answered, *working], "COMPLETED"))
            assert await _is(agent, terminated, "FAILED")


@pytest.mark.parametrize("many", SIZES)
async def test_authored_tasks_outlive_a_wrong_deploy(temporal: TemporalServer, many: int) -> None:
    client = await temporal.client()
    queue = new_task_queue()
    async with _payments(client, queue) as agent:
        async with _worker(client, queue, [Payment]):
            parked = await all_of(*(agent.send("pay") for _ in range(many)))
            assert all(_state(task) == "INPUT_REQUIRED" for task in parked)
        ids = [task.id for task in parked]

        async with _worker(client, queue, [WrongPayment]):
            for task_id in ids[1:]:
                await agent.send("yes", task_id=task_id, wait=False)
            await _nothing_fails(client, agent, ids)
            assert _state(await agent.cancel(ids[0])) == "INPUT_REQUIRED"

        async with _worker(client, queue, [Payment]):
            await _recover(client, agent, {ids[0]: "CANCELED"})
            await _recover(client, agent, dict.fromkeys(ids[1:], "COMPLETED"))


async def _recover(client: Client, agent: Served, wanted: dict[str, str]) -> None:
    """Wait until tasks, and their workflows, have ended as they should."""

    async def recovered(task_id: str, state: str) -> bool:
        described = await client.get_workflow_handle(task_id).describe()
        assert described.status is not None
        assert described.status.name == state, f"workflow {task_id} is {described.status.name}"
        return await _is(agent, task_id, state)

    for task_id, state in wanted.items():
        await eventually(
            lambda task_id=task_id, state=state: recovered(task_id, state),
            within=RECOVERS_WITHIN,
            every=0.3,
        )


async def _nothing_fails(client: Client, agent: Served, ids: Sequence[str]) -> None:
    """While the wrong version is out, tasks are read, show their last state, and stay open."""

    async def look() -> None:
        for task in await asyncio.gather(*(agent.get(task_id) for task_id in ids)):
            assert _state(task) in ("INPUT_REQUIRED", "WORKING", "COMPLETED"), task
            assert len(task.artifacts) <= 1

    await steadily(look, during=WRONG_FOR, every=0.5)
    described = await asyncio.gather(
        *(client.get_workflow_handle(task_id).describe() for task_id in ids)
    )
    assert all(each.status == RUNNING for each in described)


@asynccontextmanager
async def _payments(client: Client, queue: str) -> AsyncGenerator[Served]:
    handler = TemporalRequestHandler(
        client, agent_card=CARD, task_queue=queue, workflow=Payment, options=OPTIONS
    )
    await handler.start()
    try:
        yield Served(handler=handler, task_queue=queue)
    finally:
        await handler.aclose()


def _worker(client: Client, queue: str, workflows: Sequence[type]) -> Worker:
    return Worker(
        client,
        task_queue=queue,
        workflows=workflows,
        activities=[pay],
        plugins=[A2APlugin(options=QUICK)],
    )


async def _all_work(agent: Served, ids: Sequence[str]) -> bool:
    tasks = await asyncio.gather(*(agent.get(task_id) for task_id in ids))
    return all(task.artifacts for task in tasks)


async def _is(agent: Served, task_id: str, wanted: str) -> bool:
    found = _state(await agent.get(task_id))
    assert found == wanted, f"task {task_id} is {found}"
    return True


def _state(task: Task | None) -> str:
    assert task is not None
    return TaskState.Name(task.status.state).removeprefix("TASK_STATE_")
