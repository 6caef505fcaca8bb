"""docs/frameworks/ag2.md: its own executor, unchanged."""

from pathlib import Path

import pytest
from temporalio.client import Client

from tests.frameworks import scenarios
from tests.frameworks.pages import Page

PAGE = "ag2.md"
SLOW = ("await asyncio.sleep(0)",)


@pytest.fixture
def page(folder: Path) -> Page:
    """The page's agent, each answer of which takes its time."""
    return Page(PAGE, folder, slow_before=SLOW)


async def test_a_turn_whose_worker_is_killed_is_finished_by_the_next(page: Page) -> None:
    await scenarios.finishes_after_its_worker_was_killed(page)


async def test_a_worker_that_is_stopped_hands_its_turn_over(
    temporal: Client, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEP_SECONDS", "1.5")
    await scenarios.a_shutdown_is_no_cancel(temporal, page)


async def test_a_cancel_stops_the_agent(
    temporal: Client, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEP_SECONDS", "1.5")
    await scenarios.cancel_stops_it(temporal, page, module="writing")
