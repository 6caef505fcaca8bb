"""``temporalio.contrib.workflow_streams``: what Temporal's SDK itself offers for streaming.

An activity publishes, the workflow hosts the stream, and subscribers poll it with updates. Every
event is flushed at once, which is the fastest the package can do.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.contrib.workflow_streams import (  # noqa: TID251 - it is the anchor here
    WorkflowStream,
    WorkflowStreamClient,
)

_TOPIC = "events"


@dataclass(frozen=True)
class Publication:
    """How many events an activity publishes, and how many seconds apart."""

    events: int
    gap: float
    delay: float


@activity.defn
async def publish(publication: Publication) -> None:
    stream = WorkflowStreamClient.from_within_activity(batch_interval=timedelta(milliseconds=20))
    topic = stream.topic(_TOPIC, type=str)
    await asyncio.sleep(publication.delay)
    async with stream:
        for _ in range(publication.events):
            topic.publish(repr(time.time()), force_flush=True)
            await asyncio.sleep(publication.gap)


@workflow.defn(sandboxed=False)  # like the library's own workflow
class StreamWorkflow:
    @workflow.init
    def __init__(self, publication: Publication) -> None:
        self._stream = WorkflowStream()
        self._released = False

    @workflow.signal
    def release(self) -> None:
        self._released = True

    @workflow.run
    async def run(self, publication: Publication) -> None:
        await workflow.execute_activity(
            publish, publication, start_to_close_timeout=timedelta(minutes=5)
        )
        # A closed stream would be read another way: stay open until everybody has read.
        await workflow.wait_condition(lambda: self._released)


async def latencies(
    client: Client, publication: Publication, *, task_queue: str, subscribers: int
) -> list[float]:
    """Return the milliseconds from publishing to reading, of every event at every subscriber."""
    handle = await client.start_workflow(
        StreamWorkflow.run, publication, id=str(uuid4()), task_queue=task_queue
    )
    found = await asyncio.gather(
        *(_read(client, handle.id, events=publication.events) for _ in range(subscribers))
    )
    await handle.signal(StreamWorkflow.release)
    await handle.result()
    return [latency for one in found for latency in one]


async def _read(client: Client, workflow_id: str, *, events: int) -> list[float]:
    found: list[float] = []
    read = 0
    began = time.time()
    stream = WorkflowStreamClient.create(client, workflow_id)
    async for item in stream.subscribe([_TOPIC], result_type=str):
        published = float(item.data)
        # What was published before the subscription was not under way for so long.
        if published > began:
            found.append((time.time() - published) * 1e3)
        read += 1
        if read == events:
            break
    return found
