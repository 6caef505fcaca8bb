"""The operations that are traced, each through HTTP, a server and a worker in this process.

A trace begins with the request and ends when the task's workflow has closed, as far as it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from a2a.types import AgentCard
from google.protobuf.json_format import MessageToDict
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import Worker

from a2a_temporal import (
    A2APlugin,
    HandlerOptions,
    PushOptions,
    TemporalRequestHandler,
    create_app,
    create_inbox,
)
from a2a_temporal._testing.transport import StreamingTransport
from a2a_temporal.inbox import BearerTokens, Person
from benchmarks.agent import BenchAgent, card, request
from benchmarks.approval import APPROVERS, Payment
from benchmarks.tracing import Trace, tracing
from tests.support.hook import Hook, hook
from tests.support.inbox import ORIGIN, Visitor
from tests.support.temporal_server import running_server
from tests.support.waiting import eventually

_TASK_QUEUE = "paths"
_PUSH = PushOptions(allowed_hosts=["127.0.0.1"])
_TOKEN = secrets.token_hex(32)
_SETTLED_SECONDS = 0.3
"""How long the last calls of an operation may take, once its workflow has closed."""


@dataclass(frozen=True)
class Scene:
    """One agent that is an executor, at two servers, one that is a workflow, inbox, receiver."""

    temporal: Client
    agent: httpx.AsyncClient
    replica: httpx.AsyncClient
    payments: httpx.AsyncClient
    approver: Visitor
    hook: Hook


Operation = Callable[[Scene], Awaitable[Trace]]


@contextlib.asynccontextmanager
async def scene(directory: Path) -> AsyncGenerator[Scene]:
    """Start everything, and stop it when the block ends."""
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_server(directory))
        client = await server.client()
        agent = await stack.enter_async_context(_served(client, None))
        replica = await stack.enter_async_context(_served(client, None))
        payments = await stack.enter_async_context(_served(client, Payment))
        inbox = create_inbox(
            client,
            authenticator=BearerTokens({_TOKEN: Person("ann", (APPROVERS,))}),
            secret=secrets.token_hex(32) * 32,
        )
        stack.push_async_callback(inbox.state.approvals.aclose)
        approver = await stack.enter_async_context(Visitor(inbox, token=_TOKEN))
        receiver = await stack.enter_async_context(hook())
        plugin = A2APlugin(agent_executor=BenchAgent(), push=_PUSH)
        worker = Worker(client, task_queue=_TASK_QUEUE, workflows=[Payment], plugins=[plugin])
        await stack.enter_async_context(worker)
        yield Scene(client, agent, replica, payments, approver, receiver)


@contextlib.asynccontextmanager
async def _served(client: Client, workflow: type[Any] | None) -> AsyncGenerator[httpx.AsyncClient]:
    about = card()
    about.capabilities.push_notifications = True
    about.name = workflow.__name__ if workflow else about.name
    handler = _handler(client, about, workflow)
    await handler.start()
    transport = StreamingTransport(create_app(handler))
    headers = {"A2A-Version": "1.0"}
    try:
        async with httpx.AsyncClient(
            transport=transport, base_url="http://agent.test", headers=headers, timeout=60
        ) as http:
            yield http
    finally:
        await handler.aclose()


def _handler(
    client: Client, about: AgentCard, workflow: type[Any] | None
) -> TemporalRequestHandler:
    options = HandlerOptions(push=_PUSH)
    if workflow is None:
        return TemporalRequestHandler(
            client, agent_card=about, task_queue=_TASK_QUEUE, options=options
        )
    return TemporalRequestHandler(
        client, agent_card=about, task_queue=_TASK_QUEUE, options=options, workflow=workflow
    )


# ------------------------------------------------------------------------- operations


async def send(scene: Scene) -> Trace:
    """A blocking SendMessage to an agent that answers at once."""
    with tracing() as trace:
        task = await _send(scene.agent, "answer")
        await _closed(scene, task["id"])
    return trace


async def stream(scene: Scene) -> Trace:
    """SendStreamingMessage to the same agent, read to its end."""
    with tracing() as trace:
        params = _message("answer")
        async with scene.agent.stream("POST", "/", json=_rpc("SendStreamingMessage", params)) as it:
            events = [line async for line in it.aiter_lines() if line.startswith("data:")]
        assert "TASK_STATE_COMPLETED" in events[-1], events
        (task,) = [json.loads(line[5:])["result"]["task"] for line in events[:1]]
        await _closed(scene, task["id"])
    return trace


async def cancel(scene: Scene) -> Trace:
    """CancelTask while the agent works."""
    task = await _send(scene.agent, "stream 1 0 3600", at_once=True)
    await _working(scene, task["id"])
    await settled()
    with tracing() as trace:
        task = await _call(scene.agent, "CancelTask", {"id": task["id"]})
        await _closed(scene, task["id"])
    assert task["status"]["state"] == "TASK_STATE_CANCELED", task
    return trace


async def get(scene: Scene) -> Trace:
    """GetTask of a finished task that this server reads for the first time."""
    return await _get(scene, again=False)


async def get_again(scene: Scene) -> Trace:
    """GetTask of a finished task that this server has read before."""
    return await _get(scene, again=True)


async def approve(scene: Scene) -> Trace:
    """An approval in the inbox: the POST of the form, until the workflow has closed."""
    task = await _send(scene.payments, "pay")
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", task
    page = await scene.approver.task(task["id"])
    (form,) = [each for each in page.forms if each.values.get("request")]
    await settled()
    with tracing() as trace:
        answer = await scene.approver.http.post(
            form.action,
            data={**form.values, "do": "approve"},
            headers={"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"},
            follow_redirects=False,
        )
        await _closed(scene, task["id"])
    assert answer.status_code == 303, answer.text
    return trace


async def push(scene: Scene) -> Trace:
    """SendMessage with a push config, until the receiver has been told of the task's end."""
    scene.hook.taken.clear()
    with tracing() as trace:
        task = await _send(scene.agent, "answer", at_once=True, push={"url": scene.hook.url})
        await scene.hook.told("COMPLETED")
        await _closed(scene, task["id"])
    return trace


OPERATIONS: dict[str, Operation] = {
    "send": send,
    "stream": stream,
    "cancel": cancel,
    "get": get,
    "get-again": get_again,
    "approve": approve,
    "push": push,
}


async def settled() -> None:
    """Wait until nothing runs any more of what came before."""

    async def silent() -> bool:
        with tracing() as trace:
            await asyncio.sleep(_SETTLED_SECONDS)
        return not trace.functions

    await eventually(silent, within=20, what="the end of all calls")


async def _get(scene: Scene, *, again: bool) -> Trace:
    """Read a task at a server that did not begin it."""
    task = await _send(scene.agent, "answer")
    await _closed(scene, task["id"])
    if again:
        await _call(scene.replica, "GetTask", {"id": task["id"]})
    await settled()
    with tracing() as trace:
        await _call(scene.replica, "GetTask", {"id": task["id"]})
    return trace


async def _closed(scene: Scene, task_id: str) -> None:
    """Wait for the end of a task's workflow, through Temporal's own client."""
    with contextlib.suppress(WorkflowFailureError):  # as when it was canceled
        await scene.temporal.get_workflow_handle(task_id).result()
    await asyncio.sleep(_SETTLED_SECONDS)


async def _working(scene: Scene, task_id: str) -> None:
    """Wait until the agent has said so; the server reads nothing for it."""
    workflow = scene.temporal.get_workflow_handle(task_id)

    async def signaled() -> bool:
        events = [event async for event in workflow.fetch_history_events()]
        return any(
            event.HasField("workflow_execution_signaled_event_attributes") for event in events
        )

    await eventually(signaled, within=30, what="a first event of the agent")


async def _send(
    agent: httpx.AsyncClient, text: str, *, at_once: bool = False, push: Any = None
) -> dict[str, Any]:
    params = _message(text)
    if at_once:
        params["configuration"]["returnImmediately"] = True
    if push:
        params["configuration"]["taskPushNotificationConfig"] = push
    return (await _call(agent, "SendMessage", params))["task"]


def _message(text: str) -> dict[str, Any]:
    params = MessageToDict(request(text, message_id=str(uuid4())))
    return {"configuration": {}, **params}


async def _call(agent: httpx.AsyncClient, method: str, params: Any) -> dict[str, Any]:
    response = await agent.post("/", json=_rpc(method, params))
    answer = response.json()
    assert "result" in answer, answer
    return answer["result"]


def _rpc(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
