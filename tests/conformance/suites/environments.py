"""Where suites live: each in a virtual environment of its own, made on its first run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

CACHE: Final = Path(
    os.environ.get("A2A_SUITES", str(Path.home() / ".cache" / "a2a-temporal-suites"))
)


class UnavailableError(Exception):
    """A suite cannot be installed here."""


def installed(package: str, *, python: tuple[int, int] = (3, 10)) -> Path:
    """Return the folder of the programs of a package, given as ``name==version``.

    Args:
        package: What to install.
        python: The oldest interpreter it runs on.

    Raises:
        UnavailableError: There is no such interpreter, or the package index has no answer.
    """
    folder = CACHE / package.replace("==", "-")
    done = folder / ".installed"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        _call(_interpreter(python), "-m", "venv", str(folder))
        _call(str(folder / "bin" / "pip"), "install", "--quiet", package)
        done.touch()
    return folder / "bin"


def source_of(package: str) -> Path:
    """Return the folder of a package's unpacked source archive.

    Raises:
        UnavailableError: The package index has no answer.
    """
    name = package.replace("==", "-").replace("-", "_", package.split("==")[0].count("-"))
    folder = CACHE / "source" / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        only_source = ("--no-binary", ":all:", "--no-deps", "--dest", str(folder.parent))
        pip = (sys.executable, "-m", "pip")
        _call(*pip, "download", "--quiet", *only_source, package)
        with tarfile.open(folder.parent / f"{name}.tar.gz") as archive:
            archive.extractall(folder.parent, filter="data")
    return folder


def _interpreter(oldest: tuple[int, int]) -> str:
    if sys.version_info >= oldest:
        return sys.executable
    root = Path(os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv")))
    for minor in range(oldest[1], 15):
        name = f"python{oldest[0]}.{minor}"
        for found in (shutil.which(name), *map(str, root.glob(f"versions/*/bin/{name}"))):
            if (
                found
                and subprocess.run([found, "-c", ""], check=False, capture_output=True).returncode
                == 0
            ):
                return found
    raise UnavailableError(f"needs Python {oldest[0]}.{oldest[1]}")


def _call(*command: str) -> None:
    try:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnavailableError(str(error)) from error
