"""An agent, its worker and its request handler in the test's own process, for a look inside."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.events.event_queue import EventQueue
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from temporalio.client import Client
from temporalio.worker import Worker

from a2a_temporal import Agent, AgentOptions, HandlerOptions
from a2a_temporal.activity import current_turn
from a2a_temporal.errors import PublicError, RetryableError

CARD = AgentCard(
    name="scripted",
    description="Does what the message says.",
    version="1",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
)


class Scripted(AgentExecutor):
    """Does what a message says, word by word: ``say:hello chunks:5 pause:0.1 ask``.

    ``say:x`` reports progress, ``chunks:n`` appends to an artifact, ``ask`` and ``auth`` end the
    turn with a question, ``gate`` waits until the test opens it, ``flaky`` asks for another attempt
    in the first one, ``fail`` fails, and ``message:x`` answers with a direct Message.
    """

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        for word in context.get_user_input().split():
            command, _, argument = word.partition(":")
            await self._do(command, argument, updater, event_queue)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        await updater.update_status(TaskState.TASK_STATE_WORKING, _said(updater, "cleaning up"))

    async def _do(
        self, command: str, argument: str, updater: TaskUpdater, queue: EventQueue
    ) -> None:
        match command:
            case "say":
                await updater.start_work(_said(updater, argument))
            case "chunks":
                await self._chunks(updater, int(argument))
            case "pause":
                await asyncio.sleep(float(argument))
            case "ask":
                await updater.requires_input(_said(updater, argument or "what?"))
            case "auth":
                await updater.requires_auth(_said(updater, argument or "who?"))
            case "message":
                parts = [Part(text=argument)]
                reply = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_AGENT, parts=parts)
                await queue.enqueue_event(reply)
            case "gate":
                await self.gate.wait()
            case "flaky" if current_turn().attempt == 1:
                raise RetryableError("once more")
            case "fail":
                raise PublicError(argument or "it went wrong")
            case _:
                pass

    async def _chunks(self, updater: TaskUpdater, number: int) -> None:
        turn = current_turn()
        for index in range(number):
            await updater.add_artifact(
                [Part(text=f"{turn.turn}.{index} ")], artifact_id=f"turn-{turn.turn}", append=True
            )
            await asyncio.sleep(0.005)


def _said(updater: TaskUpdater, text: str) -> Message:
    return updater.new_agent_message([Part(text=text)])


@dataclass(frozen=True, kw_only=True)
class Served:
    """A request handler of the scripted agent, without HTTP in between."""

    handler: RequestHandler
    task_queue: str

    async def send(self, text: str, *, task_id: str = "", wait: bool = True) -> Task:
        answer = await self.handler.on_message_send(request(text, task_id, wait), CALL)
        assert isinstance(answer, Task), answer
        return answer

    async def start(self, text: str) -> str:
        """Begin a task and return its id at once."""
        return (await self.send(text, wait=False)).id

    async def get(self, task_id: str) -> Task:
        task = await self.handler.on_get_task(GetTaskRequest(id=task_id), CALL)
        assert task is not None
        return task

    async def cancel(self, task_id: str) -> Task | None:
        return await self.handler.on_cancel_task(CancelTaskRequest(id=task_id), CALL)

    def stream(self, text: str, *, task_id: str = "") -> AsyncGenerator[Event]:
        return self.handler.on_message_send_stream(request(text, task_id), CALL)

    def subscribe(self, task_id: str) -> AsyncGenerator[Event]:
        return self.handler.on_subscribe_to_task(SubscribeToTaskRequest(id=task_id), CALL)


CALL = ServerCallContext()


def request(text: str, task_id: str = "", wait: bool = True) -> SendMessageRequest:
    message = Message(
        message_id=str(uuid.uuid4()),
        role=Role.ROLE_USER,
        parts=[Part(text=text)],
        task_id=task_id,
    )
    configuration = SendMessageConfiguration(return_immediately=not wait)
    return SendMessageRequest(message=message, configuration=configuration)


@asynccontextmanager
async def served(
    client: Client, task_queue: str, options: HandlerOptions | None = None
) -> AsyncGenerator[Served]:
    """Serve the scripted agent from one more replica."""
    agent = Agent(card=CARD, executor=Scripted())
    handler = agent.handler(client, task_queue=task_queue, options=options)
    await handler.start()
    try:
        yield Served(handler=handler, task_queue=task_queue)
    finally:
        await handler.aclose()


def agent_worker(
    client: Client,
    task_queue: str,
    *,
    agent: AgentExecutor | None = None,
    options: AgentOptions | None = None,
    cached: bool = True,
) -> Worker:
    """Return a worker of the scripted agent; without its cache it replays at every step."""
    made = Agent(card=CARD, executor=agent or Scripted(), agent_options=options)
    return made.worker(client, task_queue=task_queue, max_cached_workflows=1000 if cached else 0)


def new_task_queue() -> str:
    return f"scripted-{uuid.uuid4().hex[:8]}"


Turn = Callable[[RequestContext, EventQueue], Awaitable[None]]


class Written(AgentExecutor):
    """An agent whose turns, and whose cancel, a test writes as functions."""

    def __init__(self, turn: Turn, *, cancel: Turn | None = None) -> None:
        self.turns = 0
        self._turn = turn
        self._cancel = cancel

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.turns += 1
        await self._turn(context, event_queue)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        if self._cancel is not None:
            await self._cancel(context, event_queue)


@asynccontextmanager
async def running(
    client: Client,
    agent: AgentExecutor | None = None,
    *,
    options: AgentOptions | None = None,
    handler: HandlerOptions | None = None,
    cached: bool = True,
) -> AsyncGenerator[Served]:
    """Run and serve an agent, the scripted one by default, on a task queue of its own."""
    queue = new_task_queue()
    async with (
        agent_worker(client, queue, agent=agent, options=options, cached=cached),
        served(client, queue, handler) as serving,
    ):
        yield serving


def updater_of(context: RequestContext, queue: EventQueue) -> TaskUpdater:
    """Return the updater that an agent makes itself at the beginning of a turn."""
    return TaskUpdater(queue, str(context.task_id), str(context.context_id))
