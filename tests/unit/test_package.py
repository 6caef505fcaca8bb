"""What a user installs and reads: the exports, the wheel, the code in the documents."""

import ast
import importlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import a2a_temporal
from tests.support.processes import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PUBLIC = ("a2a_temporal", "a2a_temporal.workflow", "a2a_temporal.activity", "a2a_temporal.testing")


@pytest.mark.parametrize("name", [*PUBLIC, "a2a_temporal.errors", "a2a_temporal.push"])
def test_every_export_is_there_and_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    for exported in module.__all__:
        assert getattr(module, exported, None) is not None, exported
    assert set(module.__all__) <= set(dir(module))


def test_an_unknown_export_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = a2a_temporal.Nonsense


def test_importing_the_package_loads_neither_half() -> None:
    code = (
        "import sys, a2a_temporal\n"
        "halves = ('a2a_temporal._', 'starlette', 'httpx')\n"
        "loaded = [name for name in sys.modules if name.startswith(halves)]\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_wheel_holds_the_library_and_nothing_else(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, check=True, cwd=ROOT, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {
        "a2a_temporal",
        "a2a_temporal-0.1.0.dist-info",
    }
    for needed in ("a2a_temporal/py.typed", "a2a_temporal/_log/fold.py"):
        assert needed in names
    assert any(name.startswith("a2a_temporal/inbox/") for name in names)


def _blocks() -> list[tuple[str, str]]:
    return [
        (f"{document.relative_to(ROOT)}-{index}", block)
        for document in DOCUMENTS
        for index, block in enumerate(
            re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
        )
    ]


@pytest.mark.parametrize(("where", "block"), _blocks(), ids=lambda each: each[:40])
def test_python_in_the_documents_is_python_and_imports_what_exists(where: str, block: str) -> None:
    tree = ast.parse(block, filename=where)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("a2a_temporal"):
            module = importlib.import_module(node.module or "")
            for name in node.names:
                assert hasattr(module, name.name), f"{where}: {node.module}.{name.name}"


def test_every_link_between_the_documents_leads_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(
            r"\]\(([^)#]+?)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")
        ):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name} → {target}"


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"^\$ make (\w+)", readme, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
