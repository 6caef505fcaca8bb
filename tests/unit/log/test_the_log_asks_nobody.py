"""The log is pure: what it says is computed from entries, and Temporal is asked above it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import a2a_temporal._log

MODULES = sorted(Path(str(a2a_temporal._log.__file__)).parent.glob("*.py"))  # noqa: SLF001 # its own test
CALLING = ("temporalio.client", "temporalio.service", "temporalio.worker")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_of_the_log_cannot_call_temporal(path: Path) -> None:
    called = [name for name in _imported(path) if name.startswith(CALLING)]
    assert not called, called


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
