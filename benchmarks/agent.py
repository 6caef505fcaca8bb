"""The agent that every side of the benchmark serves, unchanged: an ordinary ``AgentExecutor``."""

from __future__ import annotations

import asyncio
import time

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
)
from google.protobuf.timestamp_pb2 import Timestamp

ARTIFACT = "answer"


def card() -> AgentCard:
    """Return the card of the agent."""
    return AgentCard(
        name="Benchmark",
        description="Answers at once, streams clock readings, or asks back.",
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[
            AgentSkill(
                id="answer", name="Answer", description="Answers a question.", tags=["benchmark"]
            )
        ],
        supported_interfaces=[
            AgentInterface(
                url="http://localhost/", protocol_binding="HTTP+JSON", protocol_version="1.0"
            )
        ],
    )


def request(
    text: str, *, message_id: str, task_id: str = "", at_once: bool = False
) -> SendMessageRequest:
    """Return a SendMessage request that the agent understands."""
    return SendMessageRequest(
        message=Message(
            message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=text)], task_id=task_id
        ),
        configuration=SendMessageConfiguration(return_immediately=at_once),
    )


def published_at(event: TaskArtifactUpdateEvent) -> list[float]:
    """Return the clock readings that the agent put into the chunk."""
    return [float(part.text) for part in event.artifact.parts]


class BenchAgent(AgentExecutor):
    """Understands ``answer``, ``ask``, ``yes`` and two ways to stream.

    ``stream <events> <gap> <delay>`` sends clock readings, ``burst <events> <bytes> <delay>`` all
    at once.
    """

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id
        assert context.context_id
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        command, *arguments = context.get_user_input().split()
        if context.current_task is None:
            await event_queue.enqueue_event(_begun(context))
        if command == "stream":
            events, gap, delay = (float(argument) for argument in arguments)
            await self._stream(updater, int(events), gap=gap, delay=delay)
        if command == "burst":
            chunks, size, delay = (float(argument) for argument in arguments)
            await asyncio.sleep(delay)
            for number in range(int(chunks)):
                text = f"{number:06}".ljust(int(size), ".")
                await updater.add_artifact([Part(text=text)], ARTIFACT, append=number > 0)
        if command == "ask":
            await updater.requires_input()
            return
        if command == "answer":
            await updater.add_artifact([Part(text="done")], artifact_id=ARTIFACT)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Nothing is left to clean up."""

    async def _stream(self, updater: TaskUpdater, events: int, *, gap: float, delay: float) -> None:
        await asyncio.sleep(delay)
        for number in range(events):
            await updater.add_artifact(
                [Part(text=repr(time.time()))], artifact_id=ARTIFACT, append=number > 0
            )
            await asyncio.sleep(gap)


def _begun(context: RequestContext) -> Task:
    now = Timestamp()
    now.GetCurrentTime()
    return Task(
        id=context.task_id or "",
        context_id=context.context_id or "",
        status=TaskStatus(state=TaskState.TASK_STATE_WORKING, timestamp=now),
        history=[context.message] if context.message else [],
    )
