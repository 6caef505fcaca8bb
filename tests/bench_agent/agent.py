"""The executor: an unmodified `a2a-sdk` agent that reads its orders from the message."""

import asyncio
from dataclasses import dataclass
from typing import Final

from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Message, Role, Task, TaskState, TaskStatus

from a2a_temporal.activity import current_turn
from tests.bench_agent import tck
from tests.bench_agent.commands import COMMANDS, names_command, split
from tests.bench_agent.ledger import Ledger, OutOfBand
from tests.bench_agent.work import THEN, Work

_NO_TASK: Final = frozenset({"msg"})
"""Commands that answer without a task, so WORKING must not be published before them."""


@dataclass(frozen=True, kw_only=True)
class BenchAgent(AgentExecutor):
    """Runs the commands of a message; an answer to a question is published, then what was left."""

    ledger: Ledger
    out_of_band: OutOfBand
    plain_text_seconds: float = 0
    """How long a text that names no command is worked on."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Run one turn."""
        asked_by_a_suite = tck.behavior(context)
        if asked_by_a_suite is not None:
            await tck.run(asked_by_a_suite, context, event_queue)
            return
        work = self._work(context, event_queue)
        try:
            await _run(work, self.plain_text_seconds)
        except asyncio.CancelledError:
            work.log("interrupted", work.command)
            raise

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Publish CANCELED, or misbehave in the way that the running command names."""
        assert context.task_id is not None
        assert context.context_id is not None
        command = _last_command(context)
        self.ledger.write(task=context.task_id, kind="cancel", step=command, attempt=0)
        if command == "cancel-raises":
            raise RuntimeError("cancel() fails on purpose; password=hunter2-SECRET")
        if command == "cancel-silent":
            return
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    def _work(self, context: RequestContext, event_queue: EventQueue) -> Work:
        assert context.task_id is not None
        assert context.context_id is not None
        turn = current_turn()
        return Work(
            request=context,
            events=event_queue,
            updater=TaskUpdater(event_queue, context.task_id, context.context_id),
            ledger=self.ledger,
            out_of_band=self.out_of_band,
            turn=turn.turn,
            attempt=turn.attempt,
        )


async def _run(work: Work, plain_text_seconds: float) -> None:
    then = _continuation(work.request)
    text = _text(work.message)
    line = text if then is None or names_command(text) else ""
    commands = [*split(line), *split(then or "")]
    if commands and commands[0][0] in _NO_TASK:
        await _run_commands(work, commands)
        return
    if work.request.current_task is None:
        await _announce(work)
    await work.updater.start_work()
    if then is not None:
        await work.updater.add_artifact(
            list(work.message.parts) or [new_text_part("")],
            artifact_id=f"answer.{work.turn}",
            name="answer",
        )
    if then is None and not names_command(text):
        await asyncio.sleep(plain_text_seconds)
    await _run_commands(work, commands)
    if not work.over:
        await work.updater.complete()


async def _run_commands(work: Work, commands: list[tuple[str, str]]) -> None:
    for position, (name, arguments) in enumerate(commands):
        work.command = name
        work.position = position
        work.rest = "; ".join(" ".join(rest).strip() for rest in commands[position + 1 :])
        await COMMANDS[name](work, arguments)
        if work.over:
            return


async def _announce(work: Work) -> None:
    """Publish the Task itself, as `a2a-sdk` asks of the first event of a new task."""
    await work.events.enqueue_event(
        Task(
            id=work.task_id,
            context_id=work.updater.context_id,
            status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
            history=[work.message],
        )
    )


def _continuation(request: RequestContext) -> str | None:
    """Return what is left to do once this message has answered a question; None if it does not.

    The question is the status message of the task, or, where the answer has already moved it to
    the history, the message of the agent right before the answer.
    """
    task = request.current_task
    if task is None:
        return None
    question = task.status.message if task.status.HasField("message") else None
    if question is None or THEN not in question.metadata:
        own_id = request.message.message_id if request.message else ""
        before = list(task.history)
        for index, message in enumerate(task.history):
            if message.message_id == own_id:
                before = before[:index]
        question = before[-1] if before else None
    if question is None or question.role != Role.ROLE_AGENT or THEN not in question.metadata:
        return None
    return str(question.metadata[THEN])


def _last_command(request: RequestContext) -> str:
    """Return the command that a cancel interrupts: the first of the latest line that names any."""
    messages = list(request.current_task.history) if request.current_task else []
    if request.message is not None:
        messages.append(request.message)
    for message in reversed(messages):
        text = _text(message)
        if message.role == Role.ROLE_USER and names_command(text):
            return split(text)[0][0]
    return ""


def _text(message: Message) -> str:
    """Return the text of the first part that has one."""
    return next((part.text.strip() for part in message.parts if part.HasField("text")), "")
