"""The workflows of the forge test what the package says it supports."""

import re
from pathlib import Path

import yaml

from tests.support.processes import ROOT

WORKFLOWS = ROOT / ".github" / "workflows"
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_every_python_of_the_classifiers_is_tested() -> None:
    classified = re.findall(r"Programming Language :: Python :: (3\.\d+)", PYPROJECT)
    checks = yaml.safe_load((WORKFLOWS / "checks.yml").read_text(encoding="utf-8"))
    assert checks["jobs"]["tests"]["strategy"]["matrix"]["python"] == classified
    assert f'requires-python = ">={classified[0]}"' in PYPROJECT


def test_the_workflows_run_make_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in (*sorted(WORKFLOWS.glob("*.yml")), ROOT / ".pre-commit-config.yaml"):
        targets = _made(path)
        assert targets, path.name
        for target in targets:
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{path.name}: {target}"


def _made(path: Path) -> list[str]:
    return re.findall(r"(?:run|entry): make ([\w-]+)", path.read_text(encoding="utf-8"))
