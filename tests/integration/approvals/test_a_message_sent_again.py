"""A message that is sent again once its question is gone waits for what the task says next."""

import asyncio
from datetime import timedelta

from a2a.types import Message, Part, Role, SendMessageRequest, TaskState
from temporalio.client import Client

from a2a_temporal.testing import running_agent, state_of
from tests.integration.approvals.asking_flows import FirstAnswerWins
from tests.support.waiting import eventually, steadily, within


async def test_a_question_that_nobody_answered_by_message_leaves_a_repeat_waiting(
    skipping: Client,
) -> None:
    async with running_agent(skipping, FirstAnswerWins) as agent:
        message = Message(message_id="go-1", role=Role.ROLE_USER, parts=[Part(text="go")])
        task = await agent.send(message)
        assert state_of(task) == "input-required"
        await agent.skip(task, timedelta(hours=1, minutes=1))
        await agent.until(task, "working")

        states: list[TaskState] = []

        async def stream() -> None:
            events = agent.user.client.send_message(SendMessageRequest(message=message))
            async for event in events:
                status = event.task if event.HasField("task") else event.status_update
                if status.HasField("status"):
                    states.append(status.status.state)

        streaming = asyncio.create_task(stream())
        sending = asyncio.create_task(agent.send(message))
        await eventually(lambda: states, within=20, what="the first word of a stream")

        def both_wait() -> None:
            assert (sending.done(), streaming.done()) == (False, False)

        await steadily(both_wait, during=1)
        await agent.skip(task, timedelta(hours=1))
        assert state_of(await within(20, sending, what="a message sent again")) == "completed"
        await within(20, streaming, what="a stream of a message sent again")
        assert states[0] == TaskState.TASK_STATE_WORKING
        assert states[-1] == TaskState.TASK_STATE_COMPLETED
        await agent.replay()
