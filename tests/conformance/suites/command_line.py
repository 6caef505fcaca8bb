"""a2a-handler, a command-line client that users have: what a user does with it, one by one."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psutil

from tests.support.waiting import eventually

_CALL_SECONDS: Final = 40
_TASK_ID: Final = re.compile(r'"(?:task_?id|taskId|id)": *"([0-9a-f-]{36})"')
_ENDED: Final = "cancel+ed"


@dataclass(frozen=True)
class _Cli:
    program: Path
    url: str
    env: Mapping[str, str]

    async def call(self, *command: str, output: str = "json") -> str:
        """Run a command to its end; what it has printed."""
        return await self.printed(await self.start(*command, output=output))

    async def start(self, *command: str, output: str) -> asyncio.subprocess.Process:
        """Begin a command."""
        return await asyncio.create_subprocess_exec(
            self.program,
            *("--output", output, *command, "--url", self.url),
            env=self.env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    async def printed(self, child: asyncio.subprocess.Process) -> str:
        """Wait until a command ends; what it has printed."""
        try:
            printed, _ = await asyncio.wait_for(child.communicate(), _CALL_SECONDS)
        except asyncio.TimeoutError:
            child.kill()
            return "no end within the time"
        return printed.decode(errors="replace")

    async def connected(self, child: asyncio.subprocess.Process) -> None:
        """Wait until a command speaks with the server; it says nothing when it has subscribed."""
        port = urlsplit(self.url).port

        def is_connected() -> bool:
            if child.returncode is not None:
                return True
            connections = psutil.Process(child.pid).net_connections("tcp")
            return any(each.raddr and each.raddr.port == port for each in connections)

        await eventually(is_connected, within=_CALL_SECONDS)


async def walk(program: Path, url: str) -> int:
    """Do every step; returns how many went wrong."""
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "NO_COLOR": "1"}
        steps = await _steps(_Cli(program, url, env))
    failed = 0
    for name, (printed, wanted) in steps.items():
        ok = re.search(wanted, printed, re.IGNORECASE) is not None
        failed += not ok
        print(f"  {'pass' if ok else 'FAIL'} {name}" + ("" if ok else f": {printed[-300:]}"))
    print(f"a2a-handler: {len(steps) - failed} passed, {failed} failed", flush=True)
    return failed


async def _steps(cli: _Cli) -> dict[str, tuple[str, str]]:
    """Return what each step has printed, and what has to stand in it."""
    steps = {
        "card": (await cli.call("card", "get"), '"name"'),
        "card is valid": (await cli.call("card", "validate"), "valid"),
        "send": (await cli.call("message", "send", "--text", "tck-complete-task"), "completed"),
        "stream": (await cli.call("message", "stream", "--text", "tck-stream-basic"), "completed"),
    }
    task_id = await _started(cli)
    watching = await cli.start("task", "resubscribe", task_id, output="ndjson")
    await cli.connected(watching)
    steps["cancel"] = (await cli.call("task", "cancel", task_id), _ENDED)
    steps["resubscribed, canceled by another"] = (await cli.printed(watching), _ENDED)
    steps["get"] = (await cli.call("task", "get", task_id), _ENDED)
    steps["list, several pages"] = (await cli.call("task", "list", "--page-size", "3"), task_id)
    held = await _started(cli)
    set_hook = ("task", "notification", "set", held, "--webhook-url", "http://127.0.0.1:9/hook")
    await cli.call(*set_hook)
    steps["hook"] = (await cli.call("task", "notification", "list", held), "127.0.0.1:9")
    await cli.call("task", "cancel", held)
    unknown = str(uuid.uuid4())
    steps["unknown task"] = (await cli.call("task", "get", unknown), "not.?found")
    return steps


async def _started(cli: _Cli) -> str:
    printed = await cli.call("message", "send", "--no-wait", "--text", "tck-cancel")
    found = _TASK_ID.search(printed)
    return found[1] if found else "none"
