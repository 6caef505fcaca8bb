"""An approval workflow is at most 40 lines."""

import inspect

import pytest

from workflows.change import ProductionChange
from workflows.expense import ExpenseApproval
from workflows.review import ContentReview


@pytest.mark.parametrize("workflow", [ExpenseApproval, ProductionChange, ContentReview])
def test_an_approval_workflow_has_at_most_forty_lines(workflow: type) -> None:
    lines = [line for line in inspect.getsource(workflow).splitlines() if line.strip()]
    assert len(lines) <= 40
