"""What the pages of docs/ show works as it stands there."""

import asyncio
import contextlib
import importlib
import os
import re
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.types import TaskPushNotificationConfig
from temporalio.client import Client

from a2a_temporal.testing import running_agent, state_of
from tests.integration.test_command_line import command
from tests.support.calls import http_client, refused
from tests.support.hook import hook
from tests.support.http_app import in_process
from tests.support.inbox import Page
from tests.support.processes import ROOT, free_port
from tests.support.waiting import eventually


def _blocks(name: str) -> list[str]:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def _module(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, source: str) -> Any:
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


async def test_the_agent_of_the_authoring_page(
    skipping: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = _module(tmp_path, monkeypatch, "docs_purchase", _blocks("authoring.md")[0])
    async with running_agent(skipping, shop.agent) as agent:
        task = await agent.expire(await agent.send("a chair"))
        await agent.approve(task, by="dora", groups=["cfo"])
        task = await agent.settled(task)
        assert state_of(task) == "completed"
        assert task.artifacts[0].parts[0].text == "Ordered a chair."


async def test_the_agent_of_the_approvals_page(
    skipping: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expenses = _module(tmp_path, monkeypatch, "docs_expenses", _blocks("approvals.md")[0])
    async with running_agent(skipping, expenses.agent) as agent:
        task = await agent.send("Hotel Adlon, please")
        for name in ("ann", "bob"):
            await agent.approve(task, by=name, groups=["finance"])
        task = await agent.settled(task)
        assert task.artifacts[0].parts[0].text == "Paid 1250.5 to Hotel Adlon"


@pytest.mark.parametrize(
    ("page", "text"), [("migrating.md", "Hello you"), ("orchestrators.md", "Looks good: you")]
)
async def test_the_page_begins_with_an_agent_that_runs(
    skipping: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, text: str
) -> None:
    name = f"docs_{page.removesuffix('.md')}"
    shown = _module(tmp_path, monkeypatch, name, _blocks(page)[0])
    async with running_agent(skipping, shown.agent) as agent:
        task = await agent.send("you")
        assert state_of(task) == "completed"
        assert text in str(task)


async def test_the_commands_of_the_operations_page(skipping: Client, tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text(_blocks("operations.md")[0], encoding="utf-8")
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[0]
    lines = [line.removeprefix("$ ") for line in shown.splitlines()]
    # All of them but the installation and the Temporal, which are there already.
    script = "\n".join(line for line in lines if not line.startswith(("pip ", "temporal ")))
    script = script.replace("localhost:7233", skipping.service_client.config.target_host)
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", script.replace("8000", str(free_port()))),
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), 120)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
    logs = [(tmp_path / name).read_text(encoding="utf-8") for name in ("server.log", "worker.log")]
    assert b"TASK_STATE_COMPLETED" in output, (output, logs)
    assert b"Hello you" in output, (output, logs)


async def test_the_authentication_of_the_bindings_page(
    skipping: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = next(block for block in _blocks("bindings.md") if "AuthenticationBackend" in block)
    shown = _module(tmp_path, monkeypatch, "docs_staff", source)
    handler = shown.agent.handler(skipping, task_queue="reports")
    async with in_process(shown.agent.app(handler)) as caller:
        assert (await caller.raw("GetTask", {"id": "x"})).status_code == 401
        await refused(caller.as_user("ann-token").get("x"), code=-32001)
    await handler.aclose()


async def test_the_agent_and_the_receiver_of_the_push_page(
    skipping: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents, receivers = (
        _module(tmp_path, monkeypatch, f"docs_push_{number}", source)
        for number, source in enumerate(_blocks("push.md"))
    )
    async with running_agent(skipping, agents.agent) as agent, hook() as there:
        config = TaskPushNotificationConfig(url=there.url)
        await agent.handler.start_task("sales", owner="requester", push_config=config)
        told = await there.told("COMPLETED")
    transport = httpx.ASGITransport(app=receivers.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://receiver") as http:
        for body, status in ((told.body, 204), (told.body, 204), (told.body + b" ", 403)):
            answer = await http.post("/hook", content=body, headers=told.headers)
            assert answer.status_code == status, answer.text
    assert receivers.seen == {told.headers["webhook-id"]}


async def test_the_test_of_the_testing_page(
    skipping: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLES_DIR", str(tmp_path))
    source = next(block for block in _blocks("testing.md") if "async def test_" in block)
    shown = _module(tmp_path, monkeypatch, "docs_test_expense", source)
    await shown.test_the_cfo_decides_after_three_days(skipping)


async def test_the_agent_and_the_commands_of_the_inbox_page(tmp_path: Path) -> None:
    (tmp_path / "chairs.py").write_text(_blocks("inbox.md")[0], encoding="utf-8")
    page = (ROOT / "docs" / "inbox.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\$ (a2a-temporal dev .*|curl .*)$", page, re.MULTILINE)
    ports = {"9999": str(free_port()), "8080": str(free_port())}
    dev, curl = (
        shlex.split(re.sub("9999|8080", lambda port: ports[port[0]], line)) for line in shown
    )
    inbox = f"http://127.0.0.1:{ports['8080']}"
    async with command(tmp_path, *dev[1:]), http_client() as http:

        async def is_ready() -> bool:
            with contextlib.suppress(httpx.TransportError):
                return (await http.get(f"{curl[1]}readyz")).is_success
            return False

        await eventually(is_ready, within=60, what="the agent")
        asking = await asyncio.create_subprocess_exec(
            *curl, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        answer, errors = await asking.communicate()
        assert "TASK_STATE_INPUT_REQUIRED" in answer.decode(), (answer, errors)
        (task_id,) = set(re.findall(r'"taskId": ?"([^"]+)"', answer.decode()))
        form = Page(await http.get(f"{inbox}/tasks/{task_id}")).form_of("approval-1")
        await http.post(f"{inbox}/tasks/{task_id}", data=form.values | {"do": "approve"})
        decided = await http.get(f"{inbox}/tasks/{task_id}")
        assert "ann" in decided.text
        assert "approved" in decided.text


@pytest.mark.parametrize("page", ["approvals.md", "authoring.md", "inbox.md", "testing.md"])
def test_every_block_is_python(page: str) -> None:
    for block in _blocks(page):
        compile(f"async def shown():\n{_indented(block)}\n    pass\n", page, "exec")


def _indented(block: str) -> str:
    return "\n".join(f"    {line}" for line in block.splitlines())
