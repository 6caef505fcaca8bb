"""Publish progress and artifact chunks of a task from any activity of its workflow."""

import asyncio
import uuid
import weakref
from types import TracebackType
from typing import Any

from a2a.types.a2a_pb2 import Artifact, TaskArtifactUpdateEvent, TaskState, TaskStatus
from a2a.types.a2a_pb2 import TaskStatusUpdateEvent as StatusEvent
from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from typing_extensions import Self

from a2a_temporal._log.state import agent_message
from a2a_temporal._reading.reader import NoTaskError, read_log
from a2a_temporal._worker.agent.attempt_numbers import CountedAttempt
from a2a_temporal._worker.agent.event_queue import PublishingQueue
from a2a_temporal._worker.agent.sending import Pace, entry_limit, sender, until_answered
from a2a_temporal._worker.options import AgentOptions
from a2a_temporal._worker.task.parts import Content, parts_of


class Publisher:
    """Publish to the task whose workflow started this activity, in an ``async with`` block.

    ::

        @activity.defn
        async def write_report(topic: str) -> None:
            async with Publisher() as task:
                await task.working("Reading sources")
                async for chunk in write(topic):
                    await task.add_artifact(chunk, artifact_id="report", append=True)

    Chunks travel in batches; leaving the block waits until all are in the log. When the activity is
    retried, what its lost attempt had published is dropped and built anew.

    Raises:
        temporalio.exceptions.ApplicationError: The activity is a local one: what it publishes would
            have to wait for the workflow task that it is a part of.
    """

    def __init__(self) -> None:
        info = activity.info()
        if info.workflow_id is None or info.workflow_run_id is None:
            raise RuntimeError("Publisher() needs an activity that a workflow started.")
        if info.is_local:
            raise ApplicationError(
                "Publisher() needs a regular activity: start it by workflow.execute_activity.",
                non_retryable=True,
            )
        client = activity.client()
        said = _said_in(client, info.workflow_id, info.workflow_run_id)
        self._queue = PublishingQueue(
            said.send,
            turn=0,
            attempt=info.attempt,
            pace=said.pace,
            limit_bytes=entry_limit(client.data_converter),
            source=said.source,
        )

    async def working(self, text: str) -> None:
        """Report progress; it is in the log at once."""
        message = agent_message(text, message_id=str(uuid.uuid4()))
        status = TaskStatus(state=TaskState.TASK_STATE_WORKING, message=message)
        await self._queue.enqueue_event(StatusEvent(status=status))

    async def add_artifact(
        self,
        content: Content,
        *,
        artifact_id: str,
        name: str = "",
        append: bool = False,
        last_chunk: bool = False,
    ) -> None:
        """Publish an artifact or a further chunk of one.

        Args:
            content: A text, a JSON object, or A2A parts.
            artifact_id: Which artifact.
            name: Shown to people.
            append: Add to the artifact instead of replacing it.
            last_chunk: Nothing will be appended after this.
        """
        artifact = Artifact(artifact_id=artifact_id, name=name, parts=parts_of(content))
        await self._queue.enqueue_event(
            TaskArtifactUpdateEvent(artifact=artifact, append=append, last_chunk=last_chunk)
        )

    async def __aenter__(self) -> Self:
        """Begin to publish."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait until everything published is in the log."""
        if exc_value is None:
            await self._queue.finish(done=False)
        else:
            self._queue.abandon()


class _Said:
    """What one attempt at an activity says, in however many blocks: one numbered sequence.

    It goes on from what earlier attempts have said, and so does its pace.
    It is sent wherever it is said, be it in a thread, so the activity is asked at the beginning.
    """

    def __init__(self, client: Client, task_id: str, run_id: str) -> None:
        self.pace = Pace(AgentOptions().batch_interval)
        self.source = f"{run_id}/{activity.info().activity_id}"
        self._client, self._task_id, self._run_id = client, task_id, run_id
        self._send = sender(client, task_id, run_id)
        self._own = CountedAttempt()
        self._attempt = self._own.counted if self._own.is_the_first else None
        self._sequence = 0
        self._in_order = asyncio.Lock()

    async def send(self, entry: dict[str, Any]) -> None:
        """Send an entry as the next one of the attempt."""
        async with self._in_order:
            if self._attempt is None:
                self._attempt = await until_answered(self._go_on, self._task_id)
            self._sequence += 1
            await self._send({**entry, "attempt": self._attempt, "sequence": self._sequence})

    async def _go_on(self) -> int:
        """Go on behind earlier attempts; returns the number of this one."""
        try:
            log = await read_log(self._client, self._task_id, run_id=self._run_id)
        except NoTaskError:
            return self._own.counted
        source = log.sources.get(self.source)
        if source is None:
            return self._own.counted
        number = await self._own.number_after(source.attempt, self._own.counted)
        self._sequence = source.sequence
        self.pace.sent += source.sequence
        return number


_attempts: dict[int, _Said] = {}


def _said_in(client: Client, task_id: str, run_id: str) -> _Said:
    """Return what the calling attempt has said, which is forgotten with the attempt."""
    info = activity.info()  # the same object throughout an attempt
    if id(info) not in _attempts:
        _attempts[id(info)] = _Said(client, task_id, run_id)
        weakref.finalize(info, _attempts.pop, id(info), None)
    return _attempts[id(info)]
