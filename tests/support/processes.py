"""Child processes: started, signaled, and always put away; their output is kept for the report."""

import asyncio
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.forked import Forked
from tests.support.waiting import POLL, eventually

ROOT = Path(__file__).parents[2]

STARTED: list["Process"] = []
"""Every process that lives, or has lived since the report began."""


def forget_the_past() -> None:
    """Begin a new report: from here on, `news` is what is printed from here on."""
    STARTED[:] = [process for process in STARTED if process.running]
    for process in STARTED:
        process.begin_news()


class EndedError(Exception):
    """A process is not there any more, so what is expected of it never comes."""


class Process:
    """One child process in a process group of its own.

    Args:
        name: What to call it in reports.
        command: Program and arguments; `python -m` is forked, see `Forked`.
        env: Added to this process's environment.
        log: File that takes its output; appended to, so a restart keeps the earlier part.
        cwd: Its current directory.
        errors: File that takes what it writes to stderr, in place of the log.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        log: Path,
        cwd: Path = ROOT,
        errors: Path | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self._command = list(command)
        self._env = dict(env)
        self._cwd = cwd
        self._errors = errors or log
        self._child: subprocess.Popen[bytes] | Forked | None = None
        self._old_news = 0

    @property
    def pid(self) -> int:
        """The id of the running child."""
        assert self._child is not None, f"{self.name} was not started"
        return self._child.pid

    @property
    def running(self) -> bool:
        """Whether the child lives (stopped by SIGSTOP counts as living)."""
        return self._child is not None and self._child.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How the child ended; None while it lives, or before it was started."""
        return None if self._child is None else self._child.poll()

    def must_run(self) -> None:
        """Raise EndedError if the child has ended: a wait for it is then over at once."""
        if not self.running:
            raise EndedError(f"{self.name} ended with {self.exit_code}:\n{self.tail()}")

    def start(self) -> None:
        """Start the child; returns at once."""
        assert not self.running, f"{self.name} runs already"
        env = {**_inherited(), **self._env}
        if self._command[:2] == [sys.executable, "-m"]:
            files = (self.log, self._errors)
            self._child = Forked(self._command[2:], env=env, output=files, cwd=self._cwd)
        else:
            self._child = self._new(env)
        if self not in STARTED:
            STARTED.append(self)

    def _new(self, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as output, self._errors.open("ab") as errors:
            return subprocess.Popen(
                self._command,
                cwd=self._cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._signal(signal.SIGKILL)
        if self._child is not None:
            self._child.wait(10)

    def terminate(self) -> None:
        """SIGTERM; returns at once."""
        self._signal(signal.SIGTERM)

    def pause(self) -> None:
        """SIGSTOP: alive, but frozen."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    async def exited(self, *, within: float) -> int:
        """Wait for the child to end by itself and return its exit code."""
        child = self._child
        assert child is not None
        await eventually(
            lambda: child.poll() is not None, within=within, what=f"the exit of {self.name}"
        )
        return child.wait()

    async def logged(self, text: str, *, within: float, since: int = 0) -> None:
        """Wait until the child has printed a text."""

        def look() -> bool:
            self.must_run()
            return text in self.output()[since:]

        await eventually(look, within=within, what=f"{text!r} in the log of {self.name}")

    async def put_away(self) -> None:
        """End the child, politely at first."""
        if self.running:
            self.resume()
            self.terminate()
            end = time.monotonic() + 8
            while self.running and time.monotonic() < end:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(POLL)
        self.kill()

    def output(self) -> str:
        """Everything the child has printed so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def tail(self, lines: int = 60) -> str:
        """The end of what the child has printed."""
        return "\n".join(self.output().splitlines()[-lines:])

    def begin_news(self) -> None:
        """Let `news` begin here."""
        self._old_news = self.log.stat().st_size if self.log.exists() else 0

    def news(self, lines: int = 80) -> str:
        """The end of what the child has printed since `begin_news`."""
        if not self.log.exists():
            return ""
        printed = self.log.read_bytes()[self._old_news :].decode(errors="replace")
        return "\n".join(printed.splitlines()[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        if self._child is not None and self._child.poll() is None:
            try:
                os.killpg(self._child.pid, number)
            except ProcessLookupError:  # it has ended, or has not become a group yet
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._child.pid, number)


def free_port() -> int:
    """Return a port of the loopback interface that nothing listens on.

    It is none of those that the system itself hands out, which could take it before it is used.
    """
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


async def accepts(port: int) -> bool:
    """Say whether something listens on a port of the loopback interface."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


def stopwatch() -> "Stopwatch":
    """Start measuring."""
    return Stopwatch()


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long ago that was."""
        return time.monotonic() - self._start


def _inherited() -> dict[str, str]:
    """The environment without settings that would point a child at somebody else's server."""
    ours = ("TEMPORAL_", "TASK_QUEUE", "LEDGER", "AUTH_DIR", "A2A_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
