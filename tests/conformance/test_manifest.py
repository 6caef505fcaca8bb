"""The manifest and the tests must agree: every clause is proved, every test here proves one."""

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

# On Python 3.10 pytest brings the one that later became part of the library.
tomllib: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
CLAUSES: list[dict[str, Any]] = tomllib.loads((HERE / "manifest.toml").read_text())["clause"]


def _tests_of(path: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


def _named() -> list[tuple[int, str, str]]:
    return [
        (clause["number"], *test.split("::"))
        for clause in CLAUSES
        for test in clause.get("tests", [])
    ]


def test_clauses_are_numbered_once_and_are_whole() -> None:
    numbers = [clause["number"] for clause in CLAUSES]
    assert numbers == list(range(1, len(numbers) + 1))
    for clause in CLAUSES:
        assert clause["section"], clause
        assert clause["text"], clause
        assert clause["level"] in ("MUST", "SHOULD", "MAY", "open"), clause
        assert bool(clause.get("tests")) != bool(clause.get("left_to")), clause


def test_every_test_that_proves_a_clause_exists() -> None:
    for number, file, name in _named():
        path = ROOT / file
        assert path.is_file(), f"clause {number} names {file}, which does not exist"
        tests = _tests_of(path)
        assert tests if name == "*" else name in tests, f"clause {number}: no {name} in {file}"


def test_every_test_of_this_folder_proves_a_clause() -> None:
    named = {(file, name) for _, file, name in _named()}
    for path in sorted(HERE.glob("test_*.py")):
        if path == Path(__file__):
            continue
        file = path.relative_to(ROOT).as_posix()
        for name in sorted(_tests_of(path)):
            known = (file, name) in named or (file, "*") in named
            assert known, f"{file}::{name} proves no clause of manifest.toml"
