"""What ``doctor`` says of worker versions."""

from a2a_temporal._cli.checks import Level, judged

ONE, TWO = ("reports", "1"), ("reports", "2")


def test_a_version_that_tasks_go_to_needs_a_worker() -> None:
    found = judged(routed=[TWO], running={ONE}, draining=[])
    assert found.level is Level.FAIL
    assert "tasks go to build '2' of deployment 'reports', which no worker runs" in found.text


def test_so_does_a_version_that_open_tasks_are_pinned_to() -> None:
    found = judged(routed=[TWO], running={TWO}, draining=[ONE])
    assert found.level is Level.FAIL
    assert "pinned to build '1'" in found.text


def test_versioned_workers_without_a_current_version_are_a_fault() -> None:
    found = judged(routed=[], running={ONE}, draining=[])
    assert found.level is Level.FAIL
    assert "--deployment-name reports --build-id 1" in found.text


def test_versions_with_their_workers_are_well_and_so_is_none() -> None:
    for routed, running in (([TWO], {ONE, TWO}), ([], set[tuple[str, str]]())):
        assert judged(routed=routed, running=running, draining=[]).level is Level.OK
