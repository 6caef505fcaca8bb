"""The files that the pages of docs/frameworks show, and how a test slows them down."""

import asyncio
import importlib
import re
import sys
import time
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parents[2] / "docs" / "frameworks"
_BLOCK = re.compile(r"^```python\n# (\w+)\.py\n(.*?)^```", re.DOTALL | re.MULTILINE)

_MODULES = ("steps", "scripted")
_STEPS = '''
import asyncio, os


async def step() -> None:
    """Note that a step has begun, and take the time that the test asks for."""
    with open(os.environ["STEPS"], "a", encoding="utf-8") as steps:
        steps.write("begun\\n")
    await asyncio.sleep(float(os.environ.get("STEP_SECONDS", "0")))
'''


class Page:
    """The files of a page, written into a folder.

    Args:
        name: Of the page, such as ``langgraph.md``.
        folder: Where its files and all they make are.
        slow_before: Beginnings of lines; before each such line a step takes its time.
    """

    def __init__(self, name: str, folder: Path, *, slow_before: tuple[str, ...] = ()) -> None:
        self.folder = folder
        blocks = _BLOCK.findall((PAGES / name).read_text(encoding="utf-8"))
        assert blocks, f"{name} shows no file"
        for module, source in blocks:
            (folder / f"{module}.py").write_text(_slowed(source, slow_before), encoding="utf-8")
        (folder / "steps.py").write_text(_STEPS, encoding="utf-8")

    @staticmethod
    def variables(folder: Path) -> dict[str, str]:
        """Return the environment by which the files find what they write."""
        files = {"LEDGER": "ledger.txt", "STEPS": "steps.txt", "CHECKPOINTS": "checkpoints.sqlite"}
        files |= {"SESSIONS": "sessions.sqlite", "HISTORIES": "histories", "STATES": "states"}
        return {name: str(folder / file) for name, file in files.items()}

    def load(self, module: str) -> Any:
        """Import a file; the workflow sandbox imports it again by its name."""
        for name in [
            name
            for name in sys.modules
            if name in _MODULES or name.startswith(("booking", "writing"))
        ]:
            del sys.modules[name]
        return importlib.import_module(module)

    def ledger(self) -> list[str]:
        """Return what was paid: the keys, in order."""
        return _lines(self.folder / "ledger.txt")

    def steps(self) -> int:
        """Return how many slow steps have begun."""
        return len(_lines(self.folder / "steps.txt"))

    async def step_begun(self, number: int, *, within: float = 60) -> None:
        """Wait until a step has begun."""
        until = time.monotonic() + within
        while self.steps() < number:
            assert time.monotonic() < until, f"step {number} did not begin within {within} s"
            await asyncio.sleep(0.05)


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def _slowed(source: str, slow_before: tuple[str, ...]) -> str:
    lines: list[str] = []
    for line in source.splitlines():
        if slow_before and line.strip().startswith(slow_before):
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(f"{indent}import steps; await steps.step()")
        lines.append(line)
    return "\n".join(lines) + "\n"
