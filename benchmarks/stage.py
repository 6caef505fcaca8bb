"""What every measurement needs: a server, a worker process, and a handler in this process.

Both sides of every comparison have the same shape. What runs on Temporal, ours or not, is served
by the one worker process and called from here; the SDK's cluster runs its agent in the process
of its handler, because that is the only way it knows.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.types import Task, TaskState
from temporalio.client import Client

from a2a_temporal import PushOptions, TemporalRequestHandler, connect
from benchmarks.agent import card, request
from benchmarks.anchors import cluster
from benchmarks.processes import Child, running
from tests.support.temporal_server import running_server

TASK_QUEUE = "benchmark"
PUSH = PushOptions(allowed_hosts=["127.0.0.1"])


@dataclass(frozen=True)
class Stage:
    """The set-up that the measurements share."""

    directory: Path
    client: Client
    handler: TemporalRequestHandler
    cluster: RequestHandler
    worker: Child

    @property
    def cluster_database(self) -> Path:
        return self.directory / "cluster.db"

    def another_handler(self) -> TemporalRequestHandler:
        """Return a handler that has seen no task yet."""
        return TemporalRequestHandler(self.client, agent_card=card(), task_queue=TASK_QUEUE)


@contextlib.asynccontextmanager
async def stage(directory: Path) -> AsyncGenerator[Stage, None]:
    """Start everything, and stop it when the block ends."""
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_server(directory))
        # connect() reads them here and in the processes that are started from here.
        os.environ.update(TEMPORAL_ADDRESS=server.address, TASK_QUEUE=TASK_QUEUE)
        os.environ.pop("TEMPORAL_NAMESPACE", None)
        client = await connect()
        handler = TemporalRequestHandler(client, agent_card=card(), task_queue=TASK_QUEUE)
        await handler.start()
        stack.push_async_callback(handler.aclose)
        worker = await stack.enter_async_context(running("worker", logs=directory))
        replica = await stack.enter_async_context(cluster.replica(directory / "cluster.db"))
        yield Stage(directory, client, handler, replica, worker)


async def send(
    handler: RequestHandler, text: str, *, task_id: str = "", at_once: bool = False
) -> Task:
    """Send a message as an anonymous client and return the task."""
    message = request(text, message_id=str(uuid4()), task_id=task_id, at_once=at_once)
    task = await handler.on_message_send(message, ServerCallContext())
    assert isinstance(task, Task), task
    return task


async def answered(handler: RequestHandler) -> None:
    """Send a question and wait for the answer."""
    task = await send(handler, "answer")
    assert task.status.state == TaskState.TASK_STATE_COMPLETED, task
    assert task.artifacts, task
