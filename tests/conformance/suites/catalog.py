"""The suites: what to install, and how each is run against the agent."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.conformance.suites import command_line, restart
from tests.conformance.suites.environments import installed, source_of
from tests.conformance.suites.ground import Ground

_CONTRACT: Final = Path(__file__).with_name("proof_contract.yaml")
_LONGEST_SECONDS: Final = 600

Run = Callable[[Ground], Awaitable[int]]


@dataclass(frozen=True)
class Suite:
    """One suite, as it is run once.

    Attributes:
        name: What to call it.
        run: Runs it; returns 0 when it is content.
        api_options: The options of the servers it is run against.
        replicas: How many servers it wants when no proxy stands in front.
        proxied: Whether it is run behind a proxy as well, in front of two replicas.
        grpc: Whether the servers speak gRPC; their cards then name an address that is no URL.
        judged: Whether it counts; otherwise its findings are for information.
    """

    name: str
    run: Run
    api_options: Sequence[str] = ()
    replicas: int = 1
    proxied: bool = True
    grpc: bool = False
    judged: bool = True


def _testbed(version: str) -> Suite:
    async def run(ground: Ground) -> int:
        program = installed("a2a-testbed==0.3.0a3", python=(3, 12)) / "a2a-testbed"
        options = ["--strict", "--protocol-version", version]
        return await _child(ground, program, "conformance", ground.url, *options)

    return Suite(f"a2a-testbed {version}", run, api_options=["--rpc-path=/a2a/v1/"])


def _proof(binding: str) -> Suite:
    async def run(ground: Ground) -> int:
        program = installed("a2a-proof==0.16.0") / "a2a-proof"
        return await _child(ground, program, "run", str(_CONTRACT), "--transport", binding)

    return Suite(f"a2a-proof {binding}", run, grpc=binding == "GRPC")


async def _handler(ground: Ground) -> int:
    program = installed("a2a-handler==0.4.0") / "handler"
    return await command_line.walk(program, ground.url)


async def _cluster_exercise(ground: Ground) -> int:
    ports = ",".join(map(str, ground.ports))
    folder = source_of("a2a-sdk==1.3.0")
    module = ["-m", "samples.clustermode.exercise", "--host", "127.0.0.1", "--ports", ports]
    codes = [await _child(ground, Path(sys.executable), *module, folder=folder) for _ in range(3)]
    print(f"{codes.count(0)} of {len(codes)}")
    return sum(codes)


async def _lint(ground: Ground) -> int:
    program = installed("a2a-lint==0.1.1") / "a2a-lint"
    return await _child(ground, program, ground.url, "--live", "--strict")


async def _a2aops(ground: Ground) -> int:
    program = installed("a2aops==1.1.0") / "a2aops"
    return await _child(ground, program, "card", "check", ground.url)


SUITES: Final = (
    _testbed("1.0"),
    _testbed("0.3"),
    _proof("JSONRPC"),
    _proof("HTTP+JSON"),
    _proof("GRPC"),
    Suite("a2a-handler", _handler),
    Suite(
        "cluster exercise",
        _cluster_exercise,
        api_options=["--rpc-path=/a2a/jsonrpc"],
        replicas=3,
        proxied=False,
    ),
    Suite("restart probe", restart.probe),
    Suite("a2a-lint", _lint, judged=False),
    Suite("a2aops", _a2aops, judged=False),
)


async def _child(ground: Ground, program: Path, *arguments: str, folder: Path | None = None) -> int:
    environment = {**os.environ, "SUT_URL": ground.url, "NO_COLOR": "1"}
    child = await asyncio.create_subprocess_exec(program, *arguments, env=environment, cwd=folder)
    try:
        return await asyncio.wait_for(child.wait(), _LONGEST_SECONDS)
    except asyncio.TimeoutError:
        child.kill()
        return 1
