"""The commands as a user starts them: real processes, Ctrl-C, a Temporal that is down."""

import os
import re
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.support.calls import Caller, http_client
from tests.support.frames import state_in, terminal_frames
from tests.support.inbox import Page
from tests.support.processes import ROOT, Process, accepts, free_port
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

AGENT = '''
import asyncio

from a2a.types import AgentCard

from a2a_temporal import Agent

from a2a.server.agent_execution import AgentExecutor
from a2a.server.tasks import TaskUpdater
from a2a.types import Part


class EchoAgentExecutor(AgentExecutor):
    """Says again what it is told."""

    async def execute(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        text = context.get_user_input()
        if text.startswith("sleep"):
            await asyncio.sleep(float(text.split()[1]))
        await updater.add_artifact([Part(text=text)])
        await updater.complete()

    async def cancel(self, context, event_queue):
        pass


nameless = Agent(card=AgentCard(), executor=EchoAgentExecutor())
remote = Agent(card=AgentCard(name="remote"), workflow="RunElsewhere")
'''
NAME = "an_agent:EchoAgentExecutor"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's project folder."""
    (tmp_path / "an_agent.py").write_text(AGENT)
    return tmp_path


@asynccontextmanager
async def command(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> AsyncGenerator[Process]:
    """Run a2a-temporal in a folder, for as long as the block lasts."""
    process = Process(
        f"a2a-temporal {arguments[0]}",
        [sys.executable, "-m", "a2a_temporal", *arguments],
        env=env or {},
        log=folder / f"{arguments[0]}.log",
        cwd=folder,
    )
    process.start()
    try:
        yield process
    finally:
        await process.put_away()


async def test_dev_runs_everything_and_a_cut_task_goes_on_at_the_next_start(folder: Path) -> None:
    port = free_port()
    async with http_client() as http:
        caller = Caller(http=http, url=f"http://127.0.0.1:{port}")
        async with command(folder, "dev", NAME, f"--port={port}") as dev:
            await _ready(caller)
            assert f"{caller.url}/.well-known/agent-card.json" in dev.output()
            assert "Temporal      http://localhost:" in dev.output()
            assert re.search(r"TEMPORAL_ADDRESS=\S+:\d+ ", dev.output())
            task = await caller.send_task("hello")
            assert task["status"]["state"] == "TASK_STATE_COMPLETED"
            async with caller.stream("sleep 5", message_id="cut") as frames:
                await frames.until_state("WORKING")
                os.killpg(dev.pid, signal.SIGINT)  # as a terminal does
                assert terminal_frames(await frames.to_the_end(within=8)) == []
            assert await dev.exited(within=15) == 0
            assert "Traceback" not in dev.output(), dev.output()
        async with command(folder, "dev", NAME, f"--port={port}"):
            await _ready(caller)
            again = await caller.send_task("sleep 5", message_id="cut")
            assert state_in({"task": again}) == "COMPLETED"
            assert (await caller.get(task["id"]))["status"] == task["status"]


async def test_dev_serves_an_inbox_that_decides_and_ends_with_it(folder: Path) -> None:
    flow = "workflows.expense:agent"
    port, inbox_port = free_port(), free_port()
    options = (f"--port={port}", f"--inbox-port={inbox_port}", "--as=ann", "--group=finance")
    env = {"PYTHONPATH": str(ROOT)}
    async with http_client() as http, command(folder, "dev", flow, *options, env=env) as dev:
        caller = Caller(http=http, url=f"http://127.0.0.1:{port}")
        await _ready(caller)
        url = f"http://127.0.0.1:{inbox_port}"
        assert f"Inbox         {url}" in dev.output()
        task = await caller.send_task("42.50 EUR to Blue Taxi")
        assert state_in({"task": task}) == "INPUT_REQUIRED"

        async def is_listed() -> bool:
            return task["id"] in (await http.get(f"{url}/")).text

        await eventually(is_listed, within=20, what="the task in the inbox")
        page = f"{url}/tasks/{task['id']}"
        form = Page(await http.get(page)).form_of("approval-1")
        foreign = await http.post(
            page, data=form.values | {"do": "approve"}, headers={"Origin": "http://evil.example"}
        )
        assert foreign.status_code == 403
        renamed = await http.get(page, headers={"Host": "evil.example"})
        assert "Blue Taxi" not in renamed.text
        sent = await http.post(page, data=form.values | {"do": "approve"})
        assert sent.status_code == 303, sent.text
        decided = Page(await http.get(page))
        assert "ann approved" in decided.text, decided.text

        os.killpg(dev.pid, signal.SIGINT)
        assert await dev.exited(within=15) == 0
        assert "Traceback" not in dev.output(), dev.output()
        assert not await accepts(inbox_port)


async def test_dev_finds_the_inbox_another_port_but_not_another_than_was_asked_for(
    folder: Path, temporal: TemporalServer
) -> None:
    env = {"TEMPORAL_ADDRESS": temporal.address}
    taken = f"--inbox-port={temporal.port}"
    async with command(folder, "dev", NAME, "--port=0", taken, env=env) as dev:
        assert await dev.exited(within=30) == 1
    assert f"port {temporal.port} is in use: choose another one with --inbox-port" in dev.output()
    with next_to_a_taken_port() as port:
        async with command(folder, "dev", NAME, f"--port={port}", env=env) as dev:
            await dev.logged("Inbox         http://127.0.0.1:", within=30)
            assert f"Inbox         http://127.0.0.1:{port + 1}" not in dev.output()
            dev.terminate()
            assert await dev.exited(within=15) == 0


@contextmanager
def next_to_a_taken_port() -> Generator[int]:
    """Yield a free port whose successor is in use."""
    with socket.socket() as taken:
        while True:
            port = free_port()
            with suppress(OSError):
                taken.bind(("127.0.0.1", port + 1))
                break
        taken.listen()
        yield port


async def test_serve_and_worker_start_without_temporal_and_work_when_it_is_there(
    folder: Path,
) -> None:
    temporal = TemporalServer(folder)
    port = free_port()
    env = {"TEMPORAL_ADDRESS": temporal.address, "TASK_QUEUE": "cli"}
    async with (
        http_client() as http,
        command(folder, "serve", NAME, f"--port={port}", "--trust-forwarded", env=env) as serve,
        command(folder, "worker", NAME, "--grace=1", env=env) as worker,
    ):
        caller = Caller(http=http, url=f"http://127.0.0.1:{port}")
        await eventually(lambda: accepts(port), within=30, what="the server")
        card = await http.get(f"{caller.url}/.well-known/agent-card.json")
        assert card.json()["name"] == "Echo"
        proxy = {"X-Forwarded-Host": "a.example.com", "X-Forwarded-Prefix": "/echo"}
        reached = await http.get(f"{caller.url}/.well-known/agent-card.json", headers=proxy)
        urls = {each["url"] for each in reached.json()["supportedInterfaces"]}
        assert urls == {"http://a.example.com/echo/", "http://a.example.com/echo"}
        assert (await http.get(f"{caller.url}/readyz")).status_code == 503
        await worker.logged("cannot be reached (connection refused)", within=30)
        try:
            await temporal.start()
            await _ready(caller)
            task = await caller.send_task("hello")
            assert task["status"]["state"] == "TASK_STATE_COMPLETED"
            for process in (serve, worker):
                process.terminate()
            for process in (serve, worker):
                assert await process.exited(within=10) == 0
                assert "Traceback" not in process.output(), process.output()
        finally:
            await temporal.process.put_away()


async def test_a_worker_that_still_waits_for_temporal_can_be_stopped(folder: Path) -> None:
    env = {"TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}"}
    async with command(folder, "worker", NAME, env=env) as worker:
        await worker.logged("next try in 4 s", within=30)
        worker.terminate()
        assert await worker.exited(within=3) == 0


async def test_a_second_signal_ends_a_worker_at_once_and_its_turn_goes_on_elsewhere(
    folder: Path, temporal: TemporalServer
) -> None:
    port = free_port()
    env = {"TEMPORAL_ADDRESS": temporal.address, "TASK_QUEUE": "twice"}
    async with (
        http_client() as http,
        command(folder, "serve", NAME, f"--port={port}", env=env),
    ):
        caller = Caller(http=http, url=f"http://127.0.0.1:{port}")
        await _ready(caller)
        async with (
            command(folder, "worker", NAME, "--grace=60", env=env) as first,
            caller.stream("sleep 3") as frames,
        ):
            await frames.until_state("WORKING")
            first.terminate()
            await first.logged("Once more to stop at once", within=5)
            first.terminate()
            assert await first.exited(within=5) == 130
            assert "Traceback" not in first.output(), first.output()
            async with command(folder, "worker", NAME, env=env):
                await frames.until_state("COMPLETED", within=40)


async def test_doctor_has_a_line_for_every_check_and_fails_without_workers(
    folder: Path, temporal: TemporalServer
) -> None:
    env = {"TEMPORAL_ADDRESS": temporal.address}
    async with command(folder, "doctor", "--task-queue=lonely", env=env) as doctor:
        assert await doctor.exited(within=30) == 1
    lines = dict(line.split(maxsplit=1)[::-1] for line in _short(doctor.output()))
    assert lines["connection"] == lines["namespace"] == lines["clock"] == "ok"
    assert lines["retention"] == "note"
    assert lines["workers"] == "FAIL"
    assert "a2a-temporal worker AGENT --task-queue lonely" in doctor.output()


async def test_doctor_names_missing_search_attributes_with_the_command(folder: Path) -> None:
    temporal = TemporalServer(folder)
    await temporal.start()
    try:
        env = {"TEMPORAL_ADDRESS": temporal.address}
        async with command(folder, "doctor", env=env) as doctor:
            assert await doctor.exited(within=30) == 1
        assert "operator search-attribute create --namespace default" in doctor.output()
    finally:
        await temporal.process.put_away()


WRONG: list[tuple[tuple[str, ...], dict[str, str], str]] = [
    (("serve", "nowhere:agent"), {}, "Error: there is no module 'nowhere'"),
    (("worker", NAME), {"TEMPORAL_NAMESPACE": "absent"}, "Error: TEMPORAL_NAMESPACE='absent'"),
    (("serve", NAME), {"TEMPORAL_ADDRESS": "localhost"}, "Error: TEMPORAL_ADDRESS='localhost'"),
    (("serve", "an_agent:nameless", "--port=0"), {}, "Error: agent '': The agent card has no name"),
    (("worker", "an_agent:remote"), {}, "Error: agent 'remote' has neither executor, workflows"),
    (("doctor",), {"TEMPORAL_ADDRESS": "127.0.0.1:1"}, "FAIL  connection"),
]


@pytest.mark.parametrize(("arguments", "env", "text"), WRONG)
async def test_a_fault_of_the_operator_ends_with_one_line_and_no_traceback(
    folder: Path,
    temporal: TemporalServer,
    arguments: tuple[str, ...],
    env: dict[str, str],
    text: str,
) -> None:
    env = {"TEMPORAL_ADDRESS": temporal.address, **env}
    async with command(folder, *arguments, env=env) as process:
        assert await process.exited(within=30) == 1
    assert text in process.output()
    assert "Traceback" not in process.output()


async def test_a_port_that_is_taken_is_named_before_anything_starts(
    folder: Path, temporal: TemporalServer
) -> None:
    async with command(folder, "dev", NAME, f"--port={temporal.port}") as dev:
        assert await dev.exited(within=30) == 1
    assert f"Error: port {temporal.port} is in use" in dev.output()
    assert not (folder / ".a2a-temporal").exists()


async def _ready(caller: Caller) -> None:
    async def look() -> bool:
        try:
            return (await caller.http.get(f"{caller.url}/readyz")).status_code == 200
        except httpx.TransportError as error:
            raise ConnectionError(repr(error)) from error

    await eventually(look, within=40, what="the ready server")


def _short(output: str) -> list[str]:
    return [" ".join(line.split()[:2]) for line in output.splitlines() if line]


@pytest.mark.parametrize(("auth", "status"), [((), 200), (("--auth=staff:Staff",), 401)])
async def test_serve_says_when_everybody_may_call(
    folder: Path, auth: tuple[str, ...], status: int
) -> None:
    (folder / "staff.py").write_text(_STAFF)
    nowhere = {"TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}"}
    port = free_port()
    arguments = (NAME, "--host=0.0.0.0", f"--port={port}", *auth)
    async with command(folder, "serve", *arguments, env=nowhere) as serve, http_client() as http:
        await eventually(lambda: accepts(port), within=30)
        answer = await http.get(f"http://127.0.0.1:{port}/extendedAgentCard")
        assert (answer.status_code == 401) is (status == 401)
        assert ("Everybody who reaches" in serve.output()) is (status == 200)


_STAFF = """
from starlette.authentication import AuthenticationBackend, AuthenticationError

class Staff(AuthenticationBackend):
    async def authenticate(self, conn):
        raise AuthenticationError("nobody")
"""
