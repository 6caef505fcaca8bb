"""``docker-compose.yml`` as tests read it."""

import re
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from tests.support.processes import ROOT

FILE = ROOT / "docker-compose.yml"
REQUIRED = re.compile(r"\$\{\w+:\?[^}]*\}")


@dataclass(frozen=True)
class Service:
    """One service of the file."""

    name: str
    fields: dict[str, Any]

    @property
    def ours(self) -> bool:
        """Whether it runs this project's own image."""
        return str(self.fields.get("image", "")).startswith("a2a-temporal:")

    @property
    def command(self) -> list[str]:
        """Its arguments."""
        return [str(each) for each in cast("list[Any]", self.fields.get("command", []))]

    @property
    def environment(self) -> dict[str, str]:
        """Its environment, with a value for every secret it has to be given."""
        given = cast("dict[str, Any]", self.fields.get("environment", {}))
        return {name: REQUIRED.sub(uuid.uuid4().hex, str(value)) for name, value in given.items()}

    @property
    def volumes(self) -> dict[str, str]:
        """Its volumes: where each lies in the container, and its name."""
        given = cast("list[str]", self.fields.get("volumes", []))
        return {target: name for name, target in (each.split(":")[:2] for each in given)}


def load() -> dict[str, Any]:
    """Return the whole file."""
    return cast("dict[str, Any]", yaml.safe_load(FILE.read_text(encoding="utf-8")))


def services() -> dict[str, Service]:
    """Return the services by name."""
    return {name: Service(name, fields) for name, fields in load()["services"].items()}


def config(name: str) -> str:
    """Return the text of a config, as the container sees it."""
    return str(load()["configs"][name]["content"]).replace("$$", "$")


def made_secrets(folder: Path) -> Path:
    """Run ``make secrets`` in a directory; return the file with the people and their tokens."""
    command = ["make", "--silent", "--file", str(ROOT / "Makefile"), "secrets"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / ".secrets" / "people.json"
