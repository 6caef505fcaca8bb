"""Run third-party black-box suites against the bench agent: `python -m tests.conformance.suites`.

Each suite lives in a virtual environment of its own under the cache directory (A2A_SUITES, default
`~/.cache/a2a-temporal-suites`), made on the first run. `--only NAME` picks one, `--list` names
them. A suite whose interpreter or package cannot be had is skipped, and said to be.
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.cluster import Cluster, Options, running_cluster
from tests.support.processes import free_port
from tests.support.push import KEYS
from tests.support.temporal_server import running_server

CACHE: Final = Path(
    os.environ.get("A2A_SUITES", str(Path.home() / ".cache" / "a2a-temporal-suites"))
)
CONTRACT: Final = Path(__file__).with_name("proof_contract.yaml")
_LONGEST_SECONDS: Final = 600


class UnavailableError(Exception):
    """A suite cannot be installed here."""


@dataclass(frozen=True)
class Suite:
    """A suite from the package index.

    Attributes:
        name: What to call it.
        package: Name and version.
        program: The command in its environment.
        python: The oldest interpreter it runs on.
        arguments: Makes its arguments of the agent's URL.
        api_options: Makes the options of the server it is run against.
    """

    name: str
    package: str
    program: str
    arguments: Callable[[str], Sequence[str]]
    api_options: Callable[[], Sequence[str]] = tuple
    python: tuple[int, int] = (3, 10)

    async def run(self, url: str) -> int:
        """Run it against the agent at a URL; returns its exit code."""
        program = self._installed()
        print(f"--- {self.name}", flush=True)
        child = await asyncio.create_subprocess_exec(
            program, *self.arguments(url), env={**os.environ, "SUT_URL": url, "NO_COLOR": "1"}
        )
        try:
            return await asyncio.wait_for(child.wait(), _LONGEST_SECONDS)
        except asyncio.TimeoutError:
            child.kill()
            return 1

    def _installed(self) -> Path:
        folder = CACHE / self.package.replace("==", "-")
        program = folder / "bin" / self.program
        if not program.exists():
            shutil.rmtree(folder, ignore_errors=True)
            _call(self._interpreter(), "-m", "venv", str(folder))
            _call(str(folder / "bin" / "pip"), "install", "--quiet", self.package)
        return program

    def _interpreter(self) -> str:
        if sys.version_info >= self.python:
            return sys.executable
        for minor in range(self.python[1], 15):
            found = shutil.which(f"python{self.python[0]}.{minor}")
            if found and subprocess.run([found, "-c", ""], check=False).returncode == 0:
                return found
        raise UnavailableError(f"needs Python {self.python[0]}.{self.python[1]}")


def _testbed(version: str) -> Suite:
    return Suite(
        name=f"a2a-testbed {version}",
        package="a2a-testbed==0.3.0a3",
        program="a2a-testbed",
        python=(3, 12),
        api_options=lambda: ["--rpc-path=/a2a/v1/"],
        arguments=lambda url: ["conformance", url, "--strict", "--protocol-version", version],
    )


def _proof(binding: str) -> Suite:
    return Suite(
        name=f"a2a-proof {binding}",
        package="a2a-proof==0.16.0",
        program="a2a-proof",
        api_options=lambda: [f"--grpc-port={free_port()}"],
        arguments=lambda _: ["run", str(CONTRACT), "--transport", binding],
    )


SUITES: Final = (
    _testbed("1.0"),
    _testbed("0.3"),
    _proof("JSONRPC"),
    _proof("HTTP+JSON"),
    _proof("GRPC"),
)


_HOOKS: Final = ("--push-allow=127.0.0.1", "--push-allow=localhost", "--push-allow=example.invalid")
_OPTIONS: Final = Options(worker=_HOOKS, env=KEYS)


async def run_all(only: Sequence[str]) -> int:
    """Start an agent, run the suites, and say what came of it."""
    results: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        async with (
            running_server(folder) as temporal,
            running_cluster(temporal, folder, apis=0, options=_OPTIONS) as cluster,
        ):
            for suite in SUITES:
                if not only or any(name in suite.name for name in only):
                    results[suite.name] = await _result(suite, cluster)
    for name, result in results.items():
        print(f"{result:12} {name}")
    return int("FAILED" in results.values())


async def _result(suite: Suite, cluster: Cluster) -> str:
    try:
        api = await cluster.add_api("--push", *_HOOKS, *suite.api_options())
        try:
            return "FAILED" if await suite.run(api.url) else "passed"
        finally:
            api.process.kill()
    except (UnavailableError, subprocess.CalledProcessError) as error:
        return f"skipped ({error})"


def _call(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.suites")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args()
    if chosen.list:
        print("\n".join(suite.name for suite in SUITES))
        return 0
    return asyncio.run(run_all(chosen.only))


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # see tests.bench_agent.__main__
