"""docs/frameworks/langgraph.md: a graph in an executor, and a graph in a workflow."""

from pathlib import Path

import pytest
from temporalio.client import Client

from tests.frameworks import scenarios
from tests.frameworks.pages import Page

PAGE = "langgraph.md"
SLOW = ('return {"messages": [await model', 'return {"hotel"', "with open(LEDGER")


async def test_an_answer_that_lands_on_another_worker_is_acted_on_once(
    temporal: Client, folder: Path
) -> None:
    await scenarios.answers_on_another_worker(temporal, Page(PAGE, folder))


async def test_a_no_pays_nothing(temporal: Client, folder: Path) -> None:
    await scenarios.a_no_pays_nothing(temporal, Page(PAGE, folder))


async def test_a_turn_whose_worker_is_killed_is_finished_by_the_next(folder: Path) -> None:
    await scenarios.survives_its_workers(Page(PAGE, folder, slow_before=SLOW))


@pytest.mark.parametrize("module", ["booking", "booking_workflow"])
async def test_a_cancel_stops_the_graph(
    temporal: Client, folder: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setenv("STEP_SECONDS", "1.5")
    await scenarios.cancel_stops_it(temporal, Page(PAGE, folder, slow_before=SLOW), module=module)


async def test_an_interrupt_in_a_workflow_is_an_approval(temporal: Client, folder: Path) -> None:
    await scenarios.asks_for_approval(temporal, Page(PAGE, folder))


async def test_a_workflow_goes_on_at_the_next_worker(folder: Path) -> None:
    await scenarios.a_workflow_survives_its_workers(Page(PAGE, folder, slow_before=SLOW))
