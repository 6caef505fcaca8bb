"""`python -m benchmarks.paths` sees which of our modules an operation runs."""

import json
import subprocess
import sys

from tests.support.processes import ROOT


def test_a_first_read_folds_the_log_once_and_a_second_one_does_not() -> None:
    command = [sys.executable, "-m", "benchmarks.paths", "--json", "--rounds=1"]
    ran = subprocess.run(
        [*command, "--only=get", "--only=get-again"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    rows = {row["name"]: row for row in map(json.loads, ran.stdout.splitlines())}
    assert set(rows) == {"get", "get-again"}, ran.stderr
    for row in rows.values():
        halves = {module.partition(".")[0] for module in row["entered"]}
        assert {"_log", "_server"} <= halves, row
        assert "_worker" not in halves, row
        assert row["modules"] == len(row["entered"]) <= row["functions"], row
    assert rows["get"]["folds"] == {"server": 1, "worker": 0, "workflow": 0}
    assert rows["get-again"]["folds"] == {"server": 0, "worker": 0, "workflow": 0}
    assert ran.returncode == (0 if all(row["ok"] for row in rows.values()) else 1)
