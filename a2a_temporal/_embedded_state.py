"""The note that an embedded Temporal server leaves in ``.a2a-temporal/``: where it runs, and whose.

`connect` reads it to find the server of this directory. A note may outlive its server
(``kill -9``), so a reader believes it only while the noted process lives.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

DIRECTORY = Path(".a2a-temporal")
_FILE = "server.json"


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


def load(directory: Path) -> EmbeddedState | None:
    """Read the note; None when there is none, or none that can be read."""
    try:
        return EmbeddedState(**json.loads((directory / _FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def running_address(directory: Path = DIRECTORY) -> str | None:
    """Address of the embedded server of a directory while its process lives."""
    state = load(directory)
    return state.address if state is not None and is_alive(state.pid) else None


def is_alive(pid: int) -> bool:
    """Whether a process of this number exists (it may be another one than before)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
