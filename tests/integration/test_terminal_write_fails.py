"""Temporal is away in the moment a task ends: the end is written later, never lost."""

from pathlib import Path

from tests.support.calls import CallError, all_of
from tests.support.cluster import running_cluster
from tests.support.results import Json, artifact_text, is_terminal, state
from tests.support.temporal_server import running_server
from tests.support.waiting import eventually


async def test_an_end_that_cannot_be_written_is_written_later(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path) as temporal,
        running_cluster(temporal, tmp_path, apis=1, workers=1) as cluster,
    ):
        caller = cluster.caller
        tasks: list[Json] = await all_of(
            *(caller.start(f"sleep 3; {end}") for end in ("effect a", "boom", "reject", "ask b?"))
        )

        def all_at_work() -> bool:
            return len({line.task for line in cluster.ledger.lines(None, "tick")}) == len(tasks)

        def all_done() -> bool:
            return len({line.task for line in cluster.ledger.lines(None, "stop")}) == len(tasks)

        await eventually(all_at_work, within=30)
        temporal.process.kill()
        await eventually(all_done, within=30)
        await temporal.start()

        async def ends() -> list[str] | None:
            try:
                found = await all_of(*(caller.get(task["id"]) for task in tasks))
            except CallError as error:
                if error.code != -32603:
                    raise
                return None
            states = [state(task) for task in found]
            settled = all(is_terminal(s) or s == "INPUT_REQUIRED" for s in states)
            return states if settled else None

        states = await eventually(ends, within=60, every=0.3)
        assert states == ["COMPLETED", "FAILED", "REJECTED", "INPUT_REQUIRED"]
        done = await caller.get(tasks[0]["id"])
        assert artifact_text(done, "sleep") == "slept 3"
