"""What third-party suites ask of an agent by texts of their own; most begin with `tck-`."""

import asyncio
import re
import uuid
from typing import Final

from a2a.helpers import new_data_part, new_text_part
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Message, Part, Role, Task, TaskState, TaskStatus

_NAME: Final = re.compile(r"tck-[a-z0-9]+(?:-[a-z0-9]+)*|hello cluster$")
_ARTIFACTS: Final = {
    "tck-artifact-text": new_text_part("generated text content"),
    "tck-artifact-data": new_data_part({"key": "value", "count": 1}),
    "tck-artifact-file": Part(raw=b"file bytes", filename="document.txt", media_type="text/plain"),
    "tck-artifact-file-url": Part(
        url="https://example.com/document.txt", filename="document.txt", media_type="text/plain"
    ),
}
_STATES: Final = {
    "tck-complete-task": TaskState.TASK_STATE_COMPLETED,
    "tck-task-failure": TaskState.TASK_STATE_FAILED,
    "tck-reject-task": TaskState.TASK_STATE_REJECTED,
    "tck-input-required": TaskState.TASK_STATE_INPUT_REQUIRED,
    "tck-auth-required": TaskState.TASK_STATE_AUTH_REQUIRED,
}


def behavior(context: RequestContext) -> str | None:
    """Return what the message, or the conversation it belongs to, asks for."""
    history = list(context.current_task.history) if context.current_task else []
    messages = ([context.message] if context.message else []) + history
    found = (_NAME.match(_text(message)) for message in messages)
    return next((match[0] for match in found if match), None)


async def run(name: str, context: RequestContext, events: EventQueue) -> None:
    """Do it."""
    assert context.task_id is not None
    assert context.context_id is not None
    if name == "tck-message-response":
        await events.enqueue_event(
            Message(
                role=Role.ROLE_AGENT,
                message_id=str(uuid.uuid4()),
                parts=[new_text_part("Direct message response")],
            )
        )
        return
    if context.current_task is None:
        submitted = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        await events.enqueue_event(
            Task(id=context.task_id, context_id=context.context_id, status=submitted)
        )
    updater = TaskUpdater(events, context.task_id, context.context_id)
    await updater.start_work()
    await _work(name, _text(context.message) if context.message else "", updater)


async def _work(name: str, text: str, updater: TaskUpdater) -> None:
    if name == "tck-multi-turn":
        done = text.lower().startswith("done")
        state = TaskState.TASK_STATE_COMPLETED if done else TaskState.TASK_STATE_INPUT_REQUIRED
        await _end(updater, state, "multi-turn complete" if done else "more input please")
    elif name in ("tck-cancel", "hello cluster"):
        await asyncio.Event().wait()
    elif name == "tck-long-running":
        await asyncio.sleep(1)
        await updater.add_artifact([new_text_part("long running result")], name="long-running")
        await _end(updater, TaskState.TASK_STATE_COMPLETED, "long running work finished")
    elif name.startswith("tck-stream-"):
        for number, chunk in enumerate(("chunk one ", "chunk two ", "chunk three")):
            await updater.add_artifact(
                [new_text_part(chunk)],
                artifact_id="chunked",
                append=number > 0,
                last_chunk=number == 2,
            )
        await _end(updater, TaskState.TASK_STATE_COMPLETED, "ok")
    elif name in _ARTIFACTS:
        await updater.add_artifact([_ARTIFACTS[name]], name=name, last_chunk=True)
        await _end(updater, TaskState.TASK_STATE_COMPLETED, "ok")
    else:
        state = _STATES.get(name, TaskState.TASK_STATE_FAILED)
        await _end(updater, state, f"{name} ok" if name in _STATES else f"unknown: {name}")


async def _end(updater: TaskUpdater, state: TaskState, text: str) -> None:
    await updater.update_status(state, updater.new_agent_message([new_text_part(text)]))


def _text(message: Message) -> str:
    return next((part.text.strip() for part in message.parts if part.HasField("text")), "")
