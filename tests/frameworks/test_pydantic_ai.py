"""docs/frameworks/pydantic-ai.md: an agent in an executor, and a durable one in a workflow."""

from pathlib import Path

import pytest
from temporalio.client import Client

from tests.frameworks import scenarios
from tests.frameworks.pages import Page

PAGE = "pydantic-ai.md"
SLOW = ("result = await booking.run(prompt", "with open(LEDGER")


async def test_an_answer_that_lands_on_another_worker_is_acted_on_once(
    temporal: Client, folder: Path
) -> None:
    await scenarios.answers_on_another_worker(temporal, Page(PAGE, folder))


async def test_a_no_pays_nothing(temporal: Client, folder: Path) -> None:
    await scenarios.a_no_pays_nothing(temporal, Page(PAGE, folder))


async def test_a_turn_whose_worker_is_killed_is_finished_by_the_next(folder: Path) -> None:
    await scenarios.survives_its_workers(Page(PAGE, folder, slow_before=SLOW))


async def test_a_cancel_stops_the_agent(
    temporal: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEP_SECONDS", "1.5")
    await scenarios.cancel_stops_it(temporal, Page(PAGE, folder, slow_before=SLOW))


async def test_a_tool_that_needs_approval_asks_the_approvers(
    temporal: Client, folder: Path
) -> None:
    await scenarios.asks_for_approval(temporal, Page(PAGE, folder))


async def test_a_workflow_goes_on_at_the_next_worker(folder: Path) -> None:
    await scenarios.a_workflow_survives_its_workers(Page(PAGE, folder, slow_before=SLOW))
