"""Part four: an approval that outlives everything, answered by signals."""

import contextlib
import json

from a2a.types import GetTaskRequest, SubscribeToTaskRequest, TaskState
from a2a.utils.errors import UnsupportedOperationError

from a2a_temporal._demo.stage import Stage
from a2a_temporal._demo.telling import expect, good, request, say, text_of, title

AGENT = "workflows.expense:agent"

_EXPENSE = "42.50 EUR to Blue Taxi for the airport ride"


class ApprovalStory:
    """What happens to an expense that two people must approve.

    Args:
        stage: Where it is asked for.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def tell(self) -> None:
        """Tell it.

        Raises:
            RuntimeError: Something did not go as it must; the text says what.
        """
        title("4  An approval waits while everything dies, Temporal included")
        await self._stage.start()
        try:
            task_id = await self._ask()
            say("kill -9 worker, kill -9 API, kill -9 Temporal")
            await self._stage.restart()
            say("All are back. Ann and Bob of finance say yes, by signals to the workflow:")
            await self._approve(task_id)
            await self._paid(task_id)
        finally:
            self._stage.stop()

    async def _ask(self) -> str:
        async with self._stage.client() as client:
            task_id = ""
            say(f"Client: {_EXPENSE}")
            async for response in client.send_message(request(_EXPENSE)):
                task_id = task_id or response.task.id
                status = response.status_update.status
                if status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
                    say(f"Agent:  {status.message.parts[0].text}")
                    break
        say(f"Its workflow says how to answer: {self._stage.temporal.workflow_url(task_id)}")
        return task_id

    async def _approve(self, task_id: str) -> None:
        temporal = await self._stage.temporal.client()
        for name in ("ann", "bob"):
            answer = {"by": name, "as": "finance", "comment": "fine"}
            say(f"temporal workflow signal --name approve --input '{json.dumps(answer)}'")
            await temporal.get_workflow_handle(task_id).signal("approve", answer)

    async def _paid(self, task_id: str) -> None:
        async with self._stage.client() as client:
            with contextlib.suppress(UnsupportedOperationError):  # it has ended already
                async for _ in client.subscribe(SubscribeToTaskRequest(id=task_id)):
                    pass
            task = await client.get_task(GetTaskRequest(id=task_id))
        state = TaskState.Name(task.status.state)
        expect(task.status.state == TaskState.TASK_STATE_COMPLETED, f"the task is {state}")
        say(f"Agent:  {task.status.message.parts[0].text}")
        good(f"{state} {text_of(task)}\n")
