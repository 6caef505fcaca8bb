"""What the tests of each framework share; each runs in an environment that has the framework."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client

from a2a_temporal.testing import temporal_server
from tests.frameworks.pages import Page


@pytest_asyncio.fixture(scope="session")
async def temporal() -> AsyncIterator[Client]:
    """A Temporal server on which time can be skipped."""
    async with temporal_server() as client:
        yield client


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules can be imported, here and by the processes of the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name, value in Page.variables(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path
