"""Python processes that begin with their imports already done.

A module's imports cost more than most tests do with it. The fork server of the standard library
imports them once for each process that runs tests, and forks.
"""

import multiprocessing
import multiprocessing.forkserver
import os
import random
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import cast

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload([__name__, "a2a_temporal._cli", "tests.bench_agent.__main__"])


def begin_to_import() -> None:
    """Start the fork server, without which the first process does; returns at once."""
    multiprocessing.forkserver.ensure_running()


class Forked:
    """What ``python -m`` would run, as a leader of its own process group.

    It has the part of :class:`subprocess.Popen` that the tests use.

    Args:
        command: Name of the module, and arguments.
        env: The whole environment.
        output: Files that take stdout and stderr; appended to.
        cwd: Its current directory.
    """

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], output: Sequence[Path], cwd: Path
    ) -> None:
        arguments = (list(command), dict(env), list(output), cwd)
        self._process = _FORKING.Process(target=_run, args=arguments, daemon=True)
        self._process.start()
        self.pid = cast("int", self._process.pid)

    def poll(self) -> int | None:
        """How it ended; None while it lives."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        self._process.join(timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(str(self._process.name), timeout or 0)
        return code


def _run(command: list[str], env: dict[str, str], output: list[Path], cwd: Path) -> None:
    os.setsid()
    os.chdir(cwd)
    for stream, path in enumerate(output, start=1):
        with path.open("ab") as file:
            os.dup2(file.fileno(), stream)
    cast("TextIOWrapper", sys.stdout).reconfigure(line_buffering=True)
    os.environ.clear()
    os.environ.update(env)
    random.seed()  # or all of them would draw the same numbers
    sys.argv[1:] = command[1:]
    sys.modules.pop(f"{command[0]}.__main__", None)
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)
