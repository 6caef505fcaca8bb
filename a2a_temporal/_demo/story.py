"""Parts one to three: a stream that survives, a cancel that stops the work, a fresh reader."""

import asyncio
import subprocess
import sys

import click
import httpx
from a2a.client.errors import A2AClientError
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    TaskState,
)

from a2a_temporal._demo.agent import NUMBERS
from a2a_temporal._demo.stage import Stage
from a2a_temporal._demo.telling import Artifact, expect, good, request, say, show, text_of, title

AGENT = "a2a_temporal._demo.agent:agent"

_KILL_AFTER = 6
_WATCH_SECONDS = 3.0


class CountingStory:
    """What happens to an agent that counts.

    Args:
        stage: Where it counts.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def tell(self) -> None:
        """Tell all parts.

        Raises:
            RuntimeError: Something did not go as it must; the text says what.
        """
        self._stage.ledger.write_text("", encoding="utf-8")
        await self._stage.start()
        try:
            say(f"A worker and an API run, as two processes: {self._stage.url}\n")
            task_id = await self._killed_mid_stream()
            await self._canceled_while_working()
            self._read_from_a_fresh_process(task_id)
        finally:
            self._stage.stop()

    async def _killed_mid_stream(self) -> str:
        title("1  Worker and API die in the middle of a stream")
        artifact = Artifact()
        task_id = ""
        async with self._stage.client() as client:
            try:
                async for response in client.send_message(request("Count, please")):
                    task_id = task_id or self._begin(response)
                    artifact.take(response)
                    show(response)
                    if artifact.chunks == _KILL_AFTER:
                        self._stage.kill()
                        click.echo()
                        say(click.style("kill -9 worker, kill -9 API", fg="red", bold=True))
            except (A2AClientError, httpx.HTTPError):
                say("The client's stream is cut. The task is not: it is a workflow.")
        await self._stage.start()
        say(
            "Both are back. The turn of the lost worker is run again, what it had built is dropped."
        )
        say("The client subscribes to its task again:")
        async with self._stage.client() as client:
            async for response in client.subscribe(SubscribeToTaskRequest(id=task_id)):
                artifact.take(response)
                show(response)
            task = await client.get_task(GetTaskRequest(id=task_id))
        click.echo()
        whole = [str(number) for number in range(1, NUMBERS + 1)]
        expect(artifact.text.split() == whole, f"the client holds {artifact.text!r}")
        expect(text_of(task).split() == whole, f"the task holds {text_of(task)!r}")
        good(f"The client has every number from 1 to {NUMBERS} once, and so has the task.\n")
        return task_id

    def _begin(self, response: StreamResponse) -> str:
        say(f"Task {response.task.id}")
        say(f"Its workflow: {self._stage.temporal.workflow_url(response.task.id)}")
        return response.task.id

    async def _canceled_while_working(self) -> None:
        title("2  Cancel stops the work, not a copy of it")
        async with self._stage.client() as client:
            count = 0
            task_id = ""
            async for response in client.send_message(request("Count, but not for long")):
                task_id = task_id or self._begin(response)
                show(response)
                count += response.HasField("artifact_update")
                if count == _KILL_AFTER:
                    break
            click.echo()
            say("CancelTask while it counts:")
            task = await client.cancel_task(CancelTaskRequest(id=task_id))
            state = TaskState.Name(task.status.state)
            expect(task.status.state == TaskState.TASK_STATE_CANCELED, f"the task is {state}")
            before = self._steps(task_id)
            say(f"{state}. The ledger has {before} steps of it. Watching it for 3 seconds …")
            await asyncio.sleep(_WATCH_SECONDS)
            after = self._steps(task_id)
        expect(before == after < NUMBERS, f"the ledger grew from {before} to {after}")
        good(f"Still {after}: the agent's code has really stopped.\n")

    def _steps(self, task_id: str) -> int:
        lines = self._stage.ledger.read_text(encoding="utf-8").splitlines()
        return sum(line.startswith(task_id) for line in lines)

    def _read_from_a_fresh_process(self, task_id: str) -> None:
        title("3  A process that has seen nothing reads the first task")
        code = (
            "import httpx, sys\n"
            "call = dict(jsonrpc='2.0', id=1, method='GetTask', params={'id': sys.argv[2]})\n"
            "answer = httpx.post(sys.argv[1], json=call, headers={'A2A-Version': '1.0'}).json()\n"
            "task = answer['result']\n"
            "parts = task['artifacts'][0]['parts']\n"
            "print(task['status']['state'], ''.join(part['text'] for part in parts))\n"
        )
        read = subprocess.run(
            [sys.executable, "-c", code, f"{self._stage.url}/", task_id],
            capture_output=True,
            text=True,
            check=False,
        )
        expect(read.returncode == 0, f"it said {read.stderr[-300:]}")
        good(read.stdout.strip() + "\n")
