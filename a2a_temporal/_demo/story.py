"""What the demo tells, step by step, with the official a2a-sdk client over HTTP."""

import asyncio
import subprocess
import sys
import uuid
from contextlib import AsyncExitStack
from pathlib import Path

import click
import httpx
from a2a.client import ClientConfig, create_client
from a2a.client.client import Client
from a2a.client.errors import A2AClientError
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)

from a2a_temporal._demo.agent import LEDGER_VARIABLE, NUMBERS
from a2a_temporal._demo.processes import DemoProcess, answering, free_port
from a2a_temporal._embedded import EmbeddedTemporal

_AGENT = "a2a_temporal._demo.agent:agent"
_KILL_AFTER = 6
_WATCH_SECONDS = 3.0


class Story:
    """The demo's stage: a Temporal, a worker, an API, a client.

    Args:
        directory: Takes the data and the logs of everything.
    """

    def __init__(self, directory: Path) -> None:
        self._ledger = directory / "ledger.txt"
        self._temporal = EmbeddedTemporal(directory=directory)
        self._url = f"http://127.0.0.1:{free_port()}"
        self._directory = directory

    async def tell(self) -> None:
        """Run all parts.

        Raises:
            RuntimeError: Something did not go as it must; the text says what.
        """
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._temporal)
            self._ledger.write_text("", encoding="utf-8")
            environment = {
                "TEMPORAL_ADDRESS": self._temporal.address,
                "TEMPORAL_NAMESPACE": "default",
                LEDGER_VARIABLE: str(self._ledger),
            }
            port = self._url.rsplit(":", 1)[1]
            self._worker = DemoProcess(
                "worker", _AGENT, environment=environment, log=self._directory / "worker.log"
            )
            self._api = DemoProcess(
                "serve",
                _AGENT,
                "--port",
                port,
                environment=environment,
                log=self._directory / "api.log",
            )
            stack.callback(self._api.stop)
            stack.callback(self._worker.stop)
            say(f"Temporal runs (real server, database on disk): {self._temporal.ui_url}")
            await self._start()
            say(f"A worker and an API run, as two processes: {self._url}\n")
            task_id = await self._killed_mid_stream()
            await self._canceled_while_working()
            self._read_from_a_fresh_process(task_id)
        say("\nThat is all. What you saw is in the test suite too, and much more of it: make test")

    async def _start(self) -> None:
        self._worker.start()
        self._api.start()
        await answering(self._url, self._api)
        self._worker.check()

    async def _client(self, stack: AsyncExitStack) -> Client:
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
        client = await create_client(self._url, client_config=ClientConfig(httpx_client=http))
        return await stack.enter_async_context(client)

    # ------------------------------------------------------------------ part 1

    async def _killed_mid_stream(self) -> str:
        title("1  Worker and API die in the middle of a stream")
        artifact = Artifact()
        task_id = ""
        async with AsyncExitStack() as stack:
            client = await self._client(stack)
            try:
                async for response in client.send_message(request("Count, please")):
                    task_id = task_id or self._begin(response)
                    artifact.take(response)
                    show(response)
                    if artifact.chunks == _KILL_AFTER:
                        self._worker.kill()
                        self._api.kill()
                        click.echo()
                        say(click.style("kill -9 worker, kill -9 API", fg="red", bold=True))
            except (A2AClientError, httpx.HTTPError):
                say("The client's stream is cut. The task is not: it is a workflow.")
        await self._start()
        say(
            "Both are back. The turn of the lost worker is run again, what it had built is dropped."
        )
        say("The client subscribes to its task again:")
        async with AsyncExitStack() as stack:
            client = await self._client(stack)
            async for response in client.subscribe(SubscribeToTaskRequest(id=task_id)):
                artifact.take(response)
                show(response)
            task = await client.get_task(GetTaskRequest(id=task_id))
        click.echo()
        whole = " ".join(str(number) for number in range(1, NUMBERS + 1))
        expect(artifact.text.split() == whole.split(), f"the client holds {artifact.text!r}")
        expect(text_of(task).split() == whole.split(), f"the task holds {text_of(task)!r}")
        good(f"The client has every number from 1 to {NUMBERS} once, and so has the task.\n")
        return task_id

    def _begin(self, response: StreamResponse) -> str:
        say(f"Task {response.task.id}")
        say(f"Its workflow: {self._temporal.workflow_url(response.task.id)}")
        return response.task.id

    # ------------------------------------------------------------------ part 2

    async def _canceled_while_working(self) -> None:
        title("2  Cancel stops the work, not a copy of it")
        async with AsyncExitStack() as stack:
            client = await self._client(stack)
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
        return sum(
            line.startswith(task_id)
            for line in self._ledger.read_text(encoding="utf-8").splitlines()
        )

    # ------------------------------------------------------------------ part 3

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
            [sys.executable, "-c", code, f"{self._url}/", task_id],
            capture_output=True,
            text=True,
            check=False,
        )
        expect(read.returncode == 0, f"it said {read.stderr[-300:]}")
        good(read.stdout.strip())


class Artifact:
    """An artifact as a client puts it together from a stream."""

    def __init__(self) -> None:
        self.text = ""
        self.chunks = 0

    def take(self, response: StreamResponse) -> None:
        """Take one stream response into account."""
        if response.HasField("task"):
            self.text = text_of(response.task)
        if response.HasField("artifact_update"):
            update = response.artifact_update
            self.chunks += 1
            added = "".join(part.text for part in update.artifact.parts)
            self.text = self.text + added if update.append else added


def request(text: str) -> SendMessageRequest:
    """Return a request that sends a text."""
    message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
    return SendMessageRequest(message=message)


def text_of(task: Task) -> str:
    """Return the text of all artifacts."""
    return "".join(part.text for artifact in task.artifacts for part in artifact.parts)


def show(response: StreamResponse) -> None:
    """Show what a stream brought, on one line."""
    if response.HasField("artifact_update"):
        update = response.artifact_update
        chunk = "".join(part.text for part in update.artifact.parts)
        click.echo(chunk if update.append else f"  ← {chunk}", nl=False)
    elif response.HasField("task") and response.task.artifacts:
        click.echo(f"  ← [the task so far] {text_of(response.task)}")


def title(text: str) -> None:
    """Head a part."""
    click.echo(click.style(text, bold=True))


def say(text: str) -> None:
    """Tell what happens."""
    click.echo(f"  {text}")


def good(text: str) -> None:
    """Tell what went well."""
    click.echo(click.style(f"  ✓ {text}", fg="green"))


def expect(met: bool, otherwise: str) -> None:
    """Stop the demo when it does not show what it must.

    Raises:
        RuntimeError: ``met`` is False.
    """
    if not met:
        raise RuntimeError(f"The demo failed: {otherwise}")
