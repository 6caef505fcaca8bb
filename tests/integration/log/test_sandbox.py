"""A plain workflow file loads in the default sandbox with nothing but the plugin."""

import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from a2a.types.a2a_pb2 import Task
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.worker import Worker

from a2a_temporal import A2APlugin, TemporalRequestHandler
from tests.integration.log.lunch_workflow import LunchWorkflow
from tests.support.in_process import CALL, CARD, Served, new_task_queue, request
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually


async def test_a_workflow_file_with_plain_imports_runs(temporal: TemporalServer) -> None:
    async with _served(await temporal.client()) as agent:
        answer = await agent.handler.on_message_send(request("soup"), CALL)
        assert isinstance(answer, Task)
        assert answer.status.message.parts[0].text == "2 x soup, /lunch"


async def test_the_sandbox_still_guards_the_users_own_code(temporal: TemporalServer) -> None:
    client = await temporal.client()
    async with _served(client) as agent:
        task_id = await agent.start("what time is it")

        async def refusals() -> list[str]:
            return [
                event.workflow_task_failed_event_attributes.failure.message
                async for event in client.get_workflow_handle(task_id).fetch_history_events()
                if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
            ]

        (refusal, *_) = await eventually(refusals, within=20, what="a refusal of the sandbox")
        assert "datetime.datetime.now" in refusal
        await client.get_workflow_handle(task_id).terminate()


@asynccontextmanager
async def _served(client: Client) -> AsyncGenerator[Served]:
    queue = new_task_queue()
    handler = TemporalRequestHandler(
        client, agent_card=CARD, task_queue=queue, workflow=LunchWorkflow
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        worker = Worker(client, task_queue=queue, workflows=[LunchWorkflow], plugins=[A2APlugin()])
    async with worker:
        try:
            yield Served(handler=handler, task_queue=queue)
        finally:
            await handler.aclose()
