"""What a command gets to work with: the request, the way to the client, and the ledger."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from a2a.helpers import new_data_part, new_text_part
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Message, Part

from a2a_temporal.activity import current_turn
from tests.bench_agent.ledger import Ledger, OutOfBand

THEN = "bench_agent/then"
"""Metadata key of a question: the command line that goes on once it is answered."""


@dataclass(kw_only=True)
class Work:
    """One run of the agent for one message."""

    request: RequestContext
    events: EventQueue
    updater: TaskUpdater
    ledger: Ledger
    out_of_band: OutOfBand
    turn: int
    attempt: int

    command: str = ""
    position: int = 0
    rest: str = ""
    """The commands that stand to the right of the one that runs."""
    over: bool = False
    """Set by a command after which there is nothing left to do in this turn."""

    @property
    def task_id(self) -> str:
        """The task that is worked on."""
        return self.updater.task_id

    @property
    def message(self) -> Message:
        """The message that began this turn."""
        assert self.request.message is not None
        return self.request.message

    def log(self, kind: str, step: int | str, *, key: str | None = None) -> None:
        """Write a line to the ledger."""
        self.ledger.write(task=self.task_id, kind=kind, step=step, attempt=self.attempt, key=key)

    def artifact_id(self) -> str:
        """The id of this command's artifact: the same in every attempt, unlike any other's."""
        return f"{self.command}.{self.turn}.{self.position}"

    def say(self, text: str, *, metadata: dict[str, Any] | None = None) -> Message:
        """Build a message of the agent."""
        return self.updater.new_agent_message([new_text_part(text)], metadata=metadata)

    async def working(self, text: str) -> None:
        """Publish WORKING with a text."""
        await self.updater.start_work(self.say(text))

    async def artifact(
        self,
        *parts: Part,
        artifact_id: str | None = None,
        append: bool | None = None,
        last: bool | None = None,
    ) -> None:
        """Publish a whole artifact, or one chunk of it."""
        await self.updater.add_artifact(
            list(parts),
            artifact_id=artifact_id or self.artifact_id(),
            name=self.command,
            append=append,
            last_chunk=last,
        )

    async def text(self, text: str) -> None:
        """Publish a text as this command's artifact."""
        await self.artifact(new_text_part(text))

    async def data(self, value: Any) -> None:
        """Publish JSON as this command's artifact."""
        await self.artifact(new_data_part(value))

    async def chunks(self, texts: Sequence[str], *, pause: float = 0) -> None:
        """Publish texts as the chunks of one artifact, with a pause between them."""
        for number, text in enumerate(texts):
            if number:
                await asyncio.sleep(pause)
            await self.artifact(
                new_text_part(text), append=number > 0, last=number == len(texts) - 1
            )

    async def ask(self, question: str, *, then: str) -> None:
        """Publish INPUT_REQUIRED; the answer is followed by the command line `then`."""
        await self.updater.requires_input(self.say(question, metadata=self.asks(then)))
        self.over = True

    def asks(self, then: str) -> dict[str, Any]:
        """Return the metadata that makes a message a question of this agent."""
        return {THEN: then}

    async def reject(self, reason: str) -> None:
        """End the task as REJECTED."""
        await self.updater.reject(self.say(reason))
        self.over = True


def idempotency_key(step: str) -> str:
    """The key under which an effect happens once, whatever the attempt."""
    return current_turn().idempotency_key(step)
