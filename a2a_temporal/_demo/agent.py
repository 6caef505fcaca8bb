"""The demo's agent: an ordinary ``AgentExecutor`` that knows nothing of Temporal.

It counts. Each number takes a moment, is streamed as a chunk of one artifact, and leaves a line in
a file (the ledger), so that anybody can see whether it is really at work.
"""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part

from a2a_temporal._agent import Agent
from a2a_temporal._worker.options import AgentOptions

LEDGER_VARIABLE = "A2A_DEMO_LEDGER"
NUMBERS = 24
PAUSE_SECONDS = 0.3


class Counter(AgentExecutor):
    """Counts to 24 and says each number as it comes to it."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Count."""
        task = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await task.start_work()
        for number in range(1, NUMBERS + 1):
            await asyncio.sleep(PAUSE_SECONDS)
            _note(f"{context.task_id} {number}")
            await task.add_artifact(
                [Part(text=f"{number} ")],
                artifact_id="numbers",
                append=number > 1,
                last_chunk=number == NUMBERS,
            )
        await task.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Say that counting has stopped."""
        task = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await task.cancel()


def _note(line: str) -> None:
    ledger = os.environ.get(LEDGER_VARIABLE)
    if ledger:
        with Path(ledger).open("a", encoding="utf-8") as file:
            file.write(line + "\n")


agent = Agent(
    card=AgentCard(
        name="Counter",
        description="Counts slowly, so that there is time to pull the plug.",
        version="1.0.0",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="count", name="Count", description="Counts to 24.", tags=["demo"])],
    ),
    executor=Counter(),
    agent_options=AgentOptions(
        heartbeat_interval=timedelta(milliseconds=500), heartbeat_timeout=timedelta(seconds=3)
    ),
)
