"""An independent client, @a2a-js/sdk, does a full round; skipped only where node is missing."""

import hashlib
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from tests.conformance.suites.environments import CACHE
from tests.support.cluster import Cluster, Options, running_cluster
from tests.support.processes import free_port
from tests.support.push import LOCAL_HOOKS
from tests.support.temporal_server import TemporalServer

HERE: Final = Path(__file__).with_name("js")
NODE: Final = shutil.which("node")
NPM: Final = shutil.which("npm")

pytestmark = pytest.mark.skipif(not (NODE and NPM), reason="node and npm are not installed")


@pytest.fixture(scope="module")
def installed() -> Path:
    """A folder with the script and its packages, in the cache that suites share."""
    locked = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()[:12]
    folder = CACHE / f"js-{locked}"
    folder.mkdir(parents=True, exist_ok=True)
    for source in HERE.iterdir():
        shutil.copy(source, folder)
    if not (folder / "installed").exists():
        command = [str(NPM), "ci", "--silent", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=folder, check=True, timeout=180)
        (folder / "installed").touch()
    return folder


@pytest_asyncio.fixture(scope="module")
async def served(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Cluster]:
    """A server with every binding and push notifications."""
    options = Options(
        api=("--push", LOCAL_HOOKS, f"--grpc-port={free_port()}"),
        worker=(LOCAL_HOOKS, "--push-interval=0.2"),
    )
    folder = tmp_path_factory.mktemp("js")
    async with running_cluster(temporal, folder, apis=1, workers=1, options=options) as cluster:
        yield cluster


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
def test_an_independent_client_does_a_full_round(
    served: Cluster, installed: Path, binding: str
) -> None:
    round_trip = subprocess.run(
        [str(NODE), "round_trip.mjs", served.apis[0].url, binding],
        cwd=installed,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert round_trip.returncode == 0, round_trip.stdout + round_trip.stderr
    assert "is complete" in round_trip.stdout
