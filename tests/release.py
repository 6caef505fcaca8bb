"""``python -m tests.release``: build what would be released into dist/, and try it as a user would.

The wheel is built from the sdist. Both have to pass ``twine check --strict``. The wheel is
installed into an empty environment, and runs the demo from an empty directory.

With RELEASE=v1.2.3 in the environment, as in the release workflow, the tag has to be the version of
the package, and CHANGELOG.md has to have a section for it.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.support.processes import ROOT

DIST = ROOT / "dist"


def main() -> None:
    """Build, check, install, run; any failure ends the process with status 1."""
    with tempfile.TemporaryDirectory(prefix="a2a-temporal-release-") as folder:
        sdist, wheel = built(Path(folder))
        check_release(os.environ.get("RELEASE", ""), version=wheel.name.split("-")[1])
        tools = environment(Path(folder, "tools"), "twine>=6.1")
        run([str(tools / "twine"), "check", "--strict", str(sdist), str(wheel)])
        bare = environment(Path(folder, "bare"), f"{wheel}[embedded]")
        run([str(bare / "pip"), "check"])
        home = Path(folder, "home")
        home.mkdir()
        run([str(bare / "a2a-temporal"), "demo"], cwd=home)
    print(f"\n{sdist.name} and {wheel.name} are good.")


def built(folder: Path) -> tuple[Path, Path]:
    """Build an sdist, and a wheel from what the sdist holds."""
    shutil.rmtree(DIST, ignore_errors=True)
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(DIST)]
    run([*build, "--target", "sdist"], cwd=ROOT)
    (sdist,) = DIST.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder)
    run([*build, "--target", "wheel"], cwd=folder / sdist.name.removesuffix(".tar.gz"))
    (wheel,) = DIST.glob("*.whl")
    return sdist, wheel


def check_release(tag: str, *, version: str) -> None:
    """Hold a tag against the version and the changelog; an empty one is no release."""
    if not tag:
        return
    if tag != f"v{version}":
        sys.exit(f"The tag is {tag!r} and the version of the package {version!r}: pyproject.toml.")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"\n## [{version}]" not in changelog:
        sys.exit(f"CHANGELOG.md has no section '## [{version}]'.")


def environment(folder: Path, *packages: str) -> Path:
    """Make a virtual environment that holds some packages; returns where its commands are."""
    venv.create(folder, with_pip=True)
    run([str(folder / "bin" / "pip"), "install", "--quiet", *packages])
    return folder / "bin"


def run(command: Sequence[str], *, cwd: Path | None = None) -> None:
    """Run a command without our checkout on its path."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONPATH" and not name.startswith("TEMPORAL_")
    }
    print("$", *command, flush=True)
    if subprocess.run(command, cwd=cwd, env=env, check=False).returncode:
        sys.exit(f"{Path(command[0]).name} failed.")


if __name__ == "__main__":
    main()
