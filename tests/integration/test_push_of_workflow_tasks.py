"""Tasks of workflow authors push too, whatever their workflow emits or however it fails."""

import contextlib
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from a2a.server.context import ServerCallContext
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from temporalio import workflow
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import Replayer, Worker

from a2a_temporal import A2APlugin, HandlerOptions, PushOptions, TemporalRequestHandler
from a2a_temporal._server.plain import PlainWorkflow
from a2a_temporal._testing.replaying import replay_all
from a2a_temporal.workflow import TaskRun, TaskStart
from tests.integration.approvals.full_steps import measure
from tests.support.hook import NEVER, Hook, hook
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

PUSH = PushOptions(
    allowed_hosts=["127.0.0.1"],
    concurrency=2,
    timeout=timedelta(seconds=2),
    initial_interval=timedelta(milliseconds=200),
)
CARD = AgentCard(
    name="flows",
    version="1",
    capabilities=AgentCapabilities(push_notifications=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
)
_FULL_STEP = (2_000_000, 1_899_890)


@workflow.defn
class Flow:
    """Does what the text of the message says."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)
        if self.task.text == "full":
            for size in _FULL_STEP:
                workflow.start_activity(
                    measure, "x" * size, start_to_close_timeout=timedelta(seconds=10)
                )

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        """Work a little, then end somehow."""
        match self.task.text:
            case "raise":
                raise ValueError("on purpose")
            case "ask":
                decision = await self.task.require_approval("Go on?")
                return f"went on: {bool(decision)}"
            case "act":
                await workflow.execute_activity(
                    measure, "x", start_to_close_timeout=timedelta(seconds=10)
                )
                return "acted"
            case _:
                return "at once"


@asynccontextmanager
async def flows(
    temporal: TemporalServer, *, slots: int | None = None
) -> AsyncGenerator[TemporalRequestHandler]:
    """A handler and a worker for Flow; afterwards all that ran is replayed."""
    client = await temporal.client()
    queue = f"flows-{uuid.uuid4().hex[:8]}"
    plugin = A2APlugin(push=PUSH)
    handler = TemporalRequestHandler(
        client,
        agent_card=CARD,
        task_queue=queue,
        workflow=Flow,
        options=HandlerOptions(agent=queue, push=PUSH),
    )
    async with Worker(
        client,
        task_queue=queue,
        workflows=[Flow],
        activities=[measure],
        plugins=[plugin],
        max_concurrent_activities=slots,
    ):
        try:
            yield handler
        finally:
            await handler.aclose()
            await terminate_all(client, queue)
    replayer = Replayer(workflows=[Flow], plugins=[plugin])
    assert not await replay_all(replayer, client, queue)


async def terminate_all(client: Client, queue: str) -> None:
    """Leave nothing parked: a worker that ends under a parked task complains."""
    query = f"TaskQueue = '{queue}' AND ExecutionStatus = 'Running'"

    async def none_left() -> bool:
        async for running in client.list_workflows(query):
            with contextlib.suppress(RPCError):
                await client.get_workflow_handle(running.id).terminate()
        return not (await client.count_workflows(query)).count

    await eventually(none_left, within=20, every=0.5)


async def send(handler: TemporalRequestHandler, text: str, receiver: Hook) -> Task:
    """Send a message with a config, blocking."""
    request = SendMessageRequest(
        message=Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)]),
        configuration=SendMessageConfiguration(
            task_push_notification_config=TaskPushNotificationConfig(url=receiver.url)
        ),
    )
    answer = await handler.on_message_send(request, ServerCallContext())
    assert isinstance(answer, Task)
    return answer


async def test_a_workflow_that_ends_in_its_first_step_is_told(temporal: TemporalServer) -> None:
    async with flows(temporal) as handler, hook() as receiver:
        await send(handler, "hello", receiver)
        await receiver.told("COMPLETED")
        assert receiver.states()[0] == "SUBMITTED"


async def test_a_task_that_no_client_asked_for_is_told(temporal: TemporalServer) -> None:
    async with flows(temporal) as handler, hook() as receiver:
        await handler.start_task("hello", push_config=TaskPushNotificationConfig(url=receiver.url))
        await receiver.told("COMPLETED")


async def test_a_workflow_that_raises_is_told_as_failed(temporal: TemporalServer) -> None:
    async with flows(temporal) as handler, hook() as receiver:
        await send(handler, "raise", receiver)
        received = await receiver.told("FAILED")
        assert b"on purpose" not in received.body


async def test_a_workflow_whose_first_step_is_full_is_told(temporal: TemporalServer) -> None:
    async with flows(temporal) as handler, hook() as receiver:
        await send(handler, "full", receiver)
        await receiver.told("COMPLETED")


async def test_an_approval_by_signal_is_told(temporal: TemporalServer) -> None:
    async with flows(temporal) as handler, hook() as receiver:
        task = await send(handler, "ask", receiver)
        await receiver.told("INPUT_REQUIRED")
        await handler.client.get_workflow_handle(task.id).signal("approve", {})
        await receiver.told("COMPLETED")


async def test_hanging_receivers_take_no_more_slots_than_allowed(
    temporal: TemporalServer,
) -> None:
    async with flows(temporal) as handler, hook() as hanging, hook() as well:
        hanging.script = lambda _: NEVER
        for _ in range(5):
            await send(handler, "ask", hanging)
        task = await send(handler, "ask", well)
        await well.told("INPUT_REQUIRED")
        await handler.client.get_workflow_handle(task.id).signal("approve", {})
        await well.told("COMPLETED")
        assert hanging.most_at_once <= PUSH.concurrency
        await eventually(lambda: len(hanging.seen) >= 5, within=30, what="a turn for each")


async def test_hanging_receivers_take_no_slot_of_the_users_activities(
    temporal: TemporalServer,
) -> None:
    async with flows(temporal, slots=1) as handler, hook() as hanging:
        hanging.script = lambda _: NEVER
        await send(handler, "ask", hanging)
        await send(handler, "ask", hanging)
        await hanging.asked(2)
        task = await send(handler, "act", hanging)
        assert task.status.state == TaskState.TASK_STATE_COMPLETED, task
        assert not hanging.taken


async def test_a_workflow_that_knows_nothing_of_a2a_cannot_push(
    temporal: TemporalServer,
) -> None:
    client = await temporal.client()
    with pytest.raises(ValueError, match="push_notifications"):
        TemporalRequestHandler(
            client,
            agent_card=CARD,
            task_queue="q",
            workflow=PlainWorkflow("Anything", input=lambda message: [message.message_id]),
        )
