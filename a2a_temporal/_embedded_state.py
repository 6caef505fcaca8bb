"""The note that an embedded Temporal server leaves in ``.a2a-temporal/``: where it runs, and whose.

`connect` reads it to find the server of this directory. A note may outlive its server (``kill -9``,
a reboot), so it counts only while the noted process is a server on this directory's database.
"""

import json
import logging
import os
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

DIRECTORY = Path(".a2a-temporal")
_FILE = "server.json"
_DATABASE = "temporal.db"


@dataclass(frozen=True)
class EmbeddedState:
    """A started server.

    Attributes:
        pid: The server's process.
        owner: The process that started it and will stop it.
        port: Port of the frontend.
        ui_port: Port of the Temporal UI.
    """

    pid: int
    owner: int
    port: int
    ui_port: int

    @property
    def address(self) -> str:
        """``host:port`` of the frontend."""
        return f"localhost:{self.port}"

    def save(self, directory: Path) -> None:
        """Write the note, in one step: a reader sees the old one or the new one."""
        draft = directory / f"{_FILE}.{os.getpid()}"
        draft.write_text(json.dumps(asdict(self)), encoding="utf-8")
        draft.replace(directory / _FILE)


def make_private(directory: Path) -> None:
    """Make a directory for the data of tasks that its owner alone may read.

    One that is there already is closed as well, with the files of the server in it, when it is the
    usual one, is empty, or holds a server's data. Others stay as their owner made them.
    """
    missing = [each for each in (directory, *directory.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    used = (directory / _DATABASE).exists() or not any(directory.iterdir())
    ours = [each for each in (directory, *directory.parents) if each.name == DIRECTORY.name]
    files = [each for each in directory.glob(f"{_DATABASE}*") if each.is_file()]
    for path, mode in (
        *((each, 0o700) for each in {*missing, *ours, *([directory] if used else [])}),
        *((each, 0o600) for each in files),
    ):
        try:
            path.chmod(mode)
        except OSError as error:
            logger.warning(
                "others on this machine may read the data of tasks: the mode of %s cannot be "
                "changed to %o: %s",
                path,
                mode,
                error.strerror,
            )


def load(directory: Path) -> EmbeddedState | None:
    """Read the note; None when there is none, or none that can be read."""
    try:
        return EmbeddedState(**json.loads((directory / _FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def database_file(directory: Path) -> Path:
    """Return the database of a directory's server; absolute, so that it names one server only."""
    return (directory / _DATABASE).resolve()


def running(directory: Path) -> EmbeddedState | None:
    """Read the note if the server it speaks of runs."""
    state = load(directory)
    if state is None or str(database_file(directory)) not in _command_line(state.pid):
        return None
    return state


def running_address(directory: Path = DIRECTORY) -> str | None:
    """Address of the embedded server of a directory, if it runs."""
    state = running(directory)
    return state.address if state is not None else None


def is_alive(pid: int) -> bool:
    """Whether a process of this number exists (it may be another one than before)."""
    return bool(_command_line(pid))


def _command_line(pid: int) -> str:
    """Return how a process was started; empty when there is none (a zombie included)."""
    proc = Path("/proc")
    if (proc / "self").exists():
        try:
            return (proc / str(pid) / "cmdline").read_text(errors="replace").replace("\0", " ")
        except OSError:
            return ""
    shown = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip()
