"""What the example workflows do to the world outside."""

import json
from pathlib import Path
from typing import Any

import pytest


class Outside:
    """What the examples have done to the world outside."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def effects(self, kind: str) -> list[dict[str, Any]]:
        """The effects of a kind."""
        found = sorted(self.directory.glob(f"{kind}-*.json"))
        return [json.loads(path.read_text()) for path in found]


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Outside:
    """A world of the test's own."""
    monkeypatch.setenv("EXAMPLES_DIR", str(tmp_path))
    return Outside(tmp_path)
