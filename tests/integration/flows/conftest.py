"""The example workflows, run by the kit: one Temporal with time skipping for all of them."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from temporalio.client import Client

from a2a_temporal.testing import temporal_server


@pytest_asyncio.fixture(scope="session")
async def skipping() -> AsyncIterator[Client]:
    """A client of a Temporal server that skips time."""
    async with temporal_server() as client:
        yield client


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
