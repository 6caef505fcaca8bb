"""The shapes: each drives one task of the scripted agent to where its history is taken."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from a2a.types.a2a_pb2 import Message, Task, TaskPushNotificationConfig
from temporalio.client import Client

from a2a_temporal._reading.reader import read_log
from tests.support.hook import hook
from tests.support.in_process import CALL, Scripted, Served, request
from tests.support.turns import activity_in_back_off
from tests.support.waiting import eventually


@dataclass(frozen=True)
class Scene:
    """What a shape plays with.

    Attributes:
        client: Connected client.
        agent: The scripted agent; its tasks may push to this machine.
        flow: The workflow of an author, see `tests.replay.flow`.
        scripted: What the scripted agent is.
    """

    client: Client
    agent: Served
    flow: Served
    scripted: Scripted = field(default_factory=Scripted)

    async def accepted(self, task_id: str, messages: int) -> None:
        """Wait until a task's log holds so many client messages."""

        async def look() -> bool:
            return (await read_log(self.client, task_id)).turns == messages

        await eventually(look, within=20, what=f"{messages} messages")

    async def working(self, task_id: str) -> None:
        """Wait until the agent has begun."""

        async def look() -> bool:
            return (await read_log(self.client, task_id)).turn == 1

        await eventually(look, within=20, what="the first word of the agent")

    async def says(self, task_id: str, text: str) -> None:
        """Wait until the task's status begins with a text."""

        async def look() -> bool:
            message = (await read_log(self.client, task_id)).task.status.message
            return bool(message.parts) and message.parts[0].text.startswith(text)

        await eventually(look, within=20, what=f"{text!r}")

    async def signal(self, task_id: str, name: str, **fields: str) -> None:
        """Signal as an operator does."""
        await self.client.get_workflow_handle(task_id).signal(name, fields)

    async def only_task(self) -> str:
        """Wait until visibility shows the one task of this scene."""

        async def look() -> list[str]:
            query = f"TaskQueue = '{self.agent.task_queue}'"
            return [found.id async for found in self.client.list_workflows(query)]

        (task_id,) = await eventually(look, within=20, what="the task in visibility")
        return task_id


Shape = Callable[[Scene], Coroutine[Any, Any, str]]


async def one_turn(scene: Scene) -> str:
    return (await scene.agent.send("say:a chunks:3")).id


async def silent_turn(scene: Scene) -> str:
    return (await scene.agent.send("pause:0")).id


async def two_attempts(scene: Scene) -> str:
    return (await scene.agent.send("say:a chunks:3 pause:0.2 flaky chunks:2")).id


async def ask_and_answer(scene: Scene) -> str:
    task_id = (await scene.agent.send("chunks:1 ask")).id
    return (await scene.agent.send("chunks:1", task_id=task_id)).id


async def auth_within_a_turn(scene: Scene) -> str:
    return (await scene.agent.send("auth pause:0.2 say:thanks chunks:1")).id


async def canceled_while_working(scene: Scene) -> str:
    task_id = await scene.agent.start("say:a chunks:1 gate")
    await scene.working(task_id)
    await scene.agent.cancel(task_id)
    return task_id


async def canceled_while_parked(scene: Scene) -> str:
    task_id = (await scene.agent.send("ask")).id
    await scene.agent.cancel(task_id)
    return task_id


async def canceled_between_attempts(scene: Scene) -> str:
    task_id = await scene.agent.start("say:a chunks:1 flaky")
    await activity_in_back_off(scene.client, task_id, attempt=2)
    await scene.agent.cancel(task_id)
    return task_id


async def queue_of_messages(scene: Scene) -> str:
    task_id = await scene.agent.start("gate chunks:1")
    await scene.agent.send("pause:0", task_id=task_id, wait=False)
    last = asyncio.create_task(scene.agent.send("chunks:1", task_id=task_id))
    await scene.accepted(task_id, 3)
    scene.scripted.gate.set()
    await last
    return task_id


async def continued_as_new(scene: Scene) -> str:
    task_id = (await scene.agent.send("chunks:1 ask")).id
    await scene.agent.send("chunks:1 ask", task_id=task_id)
    return (await scene.agent.send("chunks:1", task_id=task_id)).id


async def failed(scene: Scene) -> str:
    return (await scene.agent.send("chunks:1 fail:sorry")).id


async def direct_message(scene: Scene) -> str:
    answer = await scene.agent.handler.on_message_send(request("message:hello"), CALL)
    assert isinstance(answer, Message), answer
    return await scene.only_task()


async def approved_by_two(scene: Scene) -> str:
    task_id = (await scene.flow.send("say approve say")).id
    await scene.signal(task_id, "approve", by="ann")
    await scene.signal(task_id, "approve", by="ann")
    await scene.signal(task_id, "approve", by="ben", comment="fine")
    return task_id


async def rejected_by_one(scene: Scene) -> str:
    task_id = (await scene.flow.send("approve")).id
    await scene.signal(task_id, "reject", by="ben")
    return task_id


async def asked_and_signed_in(scene: Scene) -> str:
    task_id = (await scene.flow.send("input auth")).id
    await scene.flow.send("red", task_id=task_id, wait=False)
    await scene.says(task_id, "Sign in")
    await scene.signal(task_id, "answer")
    return task_id


async def reminded(scene: Scene) -> str:
    task_id = (await scene.flow.send("remind")).id
    await scene.says(task_id, "Reminder")
    await scene.flow.send("yes", task_id=task_id)
    return task_id


async def nobody_answered(scene: Scene) -> str:
    task_id = (await scene.flow.send("expire escalate")).id
    await scene.says(task_id, "Escalated")
    await scene.signal(task_id, "approve", by="cfo", request="approval-2")
    return task_id


async def flow_continued_as_new(scene: Scene) -> str:
    task_id = (await scene.flow.send("say input next input")).id
    await scene.flow.send("red", task_id=task_id)
    await scene.flow.send("blue", task_id=task_id)
    return task_id


async def flow_with_agent(scene: Scene) -> str:
    task_id = (await scene.flow.send("input agent chunks:1 ask")).id
    await scene.flow.send("red", task_id=task_id)
    return (await scene.flow.send("chunks:1", task_id=task_id)).id


async def flow_canceled(scene: Scene) -> str:
    task_id = (await scene.flow.send("approve")).id
    await scene.flow.cancel(task_id)
    return task_id


async def flow_broken(scene: Scene) -> str:
    return (await scene.flow.send("say nonsense")).id


async def pushed(scene: Scene) -> str:
    """Push to a receiver that is down at first; set another once the task has ended."""
    async with hook(up=False) as receiver:
        asked = request("chunks:1 ask")
        asked.configuration.task_push_notification_config.url = receiver.url
        task = await scene.agent.handler.on_message_send(asked, CALL)
        assert isinstance(task, Task)
        await receiver.up()
        await receiver.told("INPUT_REQUIRED")
        await scene.agent.send("chunks:1", task_id=task.id)
        await receiver.told("COMPLETED")
    late = TaskPushNotificationConfig(task_id=task.id, id="late", url=receiver.url)
    await scene.agent.handler.on_create_task_push_notification_config(late, CALL)
    return task.id


SHAPES: tuple[Shape, ...] = (
    one_turn,
    silent_turn,
    two_attempts,
    ask_and_answer,
    auth_within_a_turn,
    canceled_while_working,
    canceled_while_parked,
    canceled_between_attempts,
    queue_of_messages,
    continued_as_new,
    failed,
    direct_message,
    approved_by_two,
    rejected_by_one,
    asked_and_signed_in,
    reminded,
    nobody_answered,
    flow_continued_as_new,
    flow_with_agent,
    flow_canceled,
    flow_broken,
    pushed,
)

RUNS = {"continued_as_new": 3, "flow_continued_as_new": 2}
"""Of how many runs a shape's task is made, where it is not one."""

CONTINUES_AFTER = {"continued_as_new": 10}
"""Shapes whose task continues as new after so many events."""

RETRIES_AFTER = {"canceled_between_attempts": timedelta(minutes=1)}
"""Shapes whose turns are not tried again at once."""
