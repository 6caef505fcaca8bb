"""Tasks with a push config that no worker works on: what happens to them, a test decides."""

import uuid
from dataclasses import dataclass
from datetime import timedelta

from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, Task
from temporalio.client import Client

from a2a_temporal import HandlerOptions, PushOptions, TemporalRequestHandler
from tests.support.in_process import request

PUSH = PushOptions(
    allowed_hosts=["127.0.0.1"],
    timeout=timedelta(seconds=2),
    initial_interval=timedelta(milliseconds=200),
    maximum_interval=timedelta(milliseconds=400),
)
CONFIG = "mine"
_CARD = AgentCard(
    name="silent",
    version="1",
    capabilities=AgentCapabilities(push_notifications=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
)


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """A task that was only ever submitted, with the config ``CONFIG``."""

    client: Client
    task_id: str
    run_id: str

    async def terminate(self) -> None:
        """End it, as an operator does: the task has FAILED."""
        await self.client.get_workflow_handle(self.task_id).terminate()


async def submitted(client: Client, url: str) -> Submitted:
    """Begin a task of which a receiver is to be told."""
    name = f"silent-{uuid.uuid4().hex[:8]}"
    options = HandlerOptions(agent=name, push=PUSH)
    handler = TemporalRequestHandler(client, agent_card=_CARD, task_queue=name, options=options)
    message = request("hello", wait=False)
    config = message.configuration.task_push_notification_config
    config.id, config.url = CONFIG, url
    task = await handler.on_message_send(message, ServerCallContext())
    await handler.aclose()
    assert isinstance(task, Task)
    run_id = (await client.get_workflow_handle(task.id).describe()).run_id
    return Submitted(client=client, task_id=task.id, run_id=run_id)
