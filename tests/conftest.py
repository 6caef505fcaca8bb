"""Fixtures of all tests that need processes: one Temporal server a run, clusters as needed."""

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.cluster import Cluster, Options, running_cluster
from tests.support.forked import begin_to_import
from tests.support.processes import STARTED, forget_the_past
from tests.support.push import pushing
from tests.support.temporal_server import TemporalServer, running_server
from tests.support.what_temporal_knows import latest_histories

NewCluster = Callable[..., AbstractAsyncContextManager[Cluster]]


@pytest_asyncio.fixture(scope="session")
async def temporal(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TemporalServer]:
    """The Temporal dev server that most tests share. A test that kills one starts its own."""
    begin_to_import()
    async with running_server(tmp_path_factory.mktemp("temporal")) as server:
        yield server


@pytest_asyncio.fixture(scope="session")
async def cluster(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Cluster]:
    """Two servers and two workers for tests that leave them as they are."""
    async with running_cluster(temporal, tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest_asyncio.fixture(scope="session")
async def pusher(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Cluster]:
    """A server and a worker that push, for tests that leave them as they are."""
    starting = running_cluster(
        temporal, tmp_path_factory.mktemp("pushing"), apis=1, workers=1, options=pushing()
    )
    async with starting as cluster:
        yield cluster


@pytest.fixture
def new_cluster(temporal: TemporalServer, tmp_path: Path) -> NewCluster:
    """Start a cluster that the test may break: `async with new_cluster(apis=1) as cluster`."""

    def start(
        *,
        apis: int = 1,
        workers: int = 1,
        options: Options = Options(),  # noqa: B008 - it is frozen
    ) -> AbstractAsyncContextManager[Cluster]:
        return running_cluster(temporal, tmp_path, apis=apis, workers=workers, options=options)

    return start


_LONGEST_FIRST = ("tests/integration/test_", "tests/integration/", "tests/conformance/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, or one process works on when all others are done."""

    def place(item: pytest.Item) -> int:
        matches = [item.nodeid.startswith(each) for each in (*_LONGEST_FIRST, "")]
        return matches.index(True)

    items.sort(key=place)


def pytest_runtest_setup() -> None:
    """Begin a new report: what was printed before this test is none of its business."""
    forget_the_past()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put into the report of a failing test what each process has said, and Temporal knows."""
    report = yield
    if report.failed:
        for process in STARTED:
            report.sections.append((f"log of {process.name}", process.news()))
            if process.name.startswith("temporal-"):
                known = latest_histories(process)
                report.sections.append((f"workflows of {process.name}", known))
    # A process that runs tests cannot send on what is no Unicode, and some tests log just that.
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]
    return report
