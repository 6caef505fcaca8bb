"""A filter that an operator copies out of the docs lists no task whose workflow was stopped."""

import re

from tests.support.processes import ROOT

_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FILTER = re.compile(r"`([^`]*\bA2aState (?:=|IN)[^`]*)`")
# Of a delivery workflow: one that has failed still has its dead letters.
_OF_DELIVERIES = "dead-letters"


def test_a_filter_by_state_names_the_status_of_the_workflow() -> None:
    filters = [
        (page.name, found)
        for page in _PAGES
        for found in _FILTER.findall(page.read_text(encoding="utf-8"))
    ]
    assert {name for name, _ in filters} >= {"approvals.md", "operations.md"}
    lacking = [
        each
        for each in filters
        if "ExecutionStatus" not in each[1] and _OF_DELIVERIES not in each[1]
    ]
    assert lacking == []
