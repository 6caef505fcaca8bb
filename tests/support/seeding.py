"""Tasks that were only ever submitted, at chosen times: many in little time, and no worker."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, cast

from a2a.server.context import ServerCallContext
from a2a.types import AgentCapabilities, AgentCard, ListTasksRequest, ListTasksResponse
from temporalio.client import Client

from a2a_temporal import HandlerOptions, TemporalRequestHandler
from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart, now_text
from a2a_temporal._log.indexing import start_attributes
from tests.support.waiting import eventually

_AT_ONCE = 32


class SeededAgent:
    """An agent of its own name, whose tasks nobody works on."""

    def __init__(self, client: Client, *, options: HandlerOptions | None = None) -> None:
        self.client = client
        self.name = f"seeded-{uuid.uuid4().hex[:8]}"
        self.handler = TemporalRequestHandler(
            client,
            agent_card=AgentCard(
                name=self.name,
                description="Its tasks stay submitted.",
                version="1.0.0",
                capabilities=AgentCapabilities(streaming=True),
            ),
            task_queue="nobody",
            options=options,
        )

    async def submit(
        self,
        times: Sequence[datetime],
        *,
        contexts: int = 1,
        indexed_as: str = "submitted",
        execution_timeout: timedelta | None = None,
    ) -> list[str]:
        """Create one task for each time, and wait until visibility has them all; their ids."""
        await self.handler.start()
        room = asyncio.Semaphore(_AT_ONCE)

        async def create(number: int, at: datetime) -> str:
            async with room:
                start = self._start(f"context-{number % contexts}", at)
                await self.client.start_workflow(
                    wire.AGENT_WORKFLOW,
                    asdict(start),
                    id=start.task_id,
                    task_queue="nobody",
                    search_attributes=start_attributes(start, indexed_as, at),
                    execution_timeout=execution_timeout,
                )
                return start.task_id

        before = await self._visible()
        ids = await asyncio.gather(*(create(number, at) for number, at in enumerate(times)))

        async def all_visible() -> bool:
            return await self._visible() == before + len(ids)

        await eventually(all_visible, within=30, what=f"{len(ids)} more tasks of {self.name}")
        return ids

    async def page(self, request: ListTasksRequest) -> ListTasksResponse:
        """ListTasks, as a caller without a name."""
        handler = cast("Any", self.handler)  # the SDK's decorator has lost the types
        return cast("ListTasksResponse", await handler.on_list_tasks(request, ServerCallContext()))

    async def _visible(self) -> int:
        query = f"{wire.AGENT_ATTRIBUTE} = '{self.name}'"
        return (await self.client.count_workflows(query)).count

    def _start(self, context_id: str, at: datetime) -> TaskStart:
        message_id = str(uuid.uuid4())
        return TaskStart(
            task_id=str(uuid.uuid4()),
            context_id=context_id,
            agent=self.name,
            message={"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": "echo"}]},
            at=now_text(at),
        )
