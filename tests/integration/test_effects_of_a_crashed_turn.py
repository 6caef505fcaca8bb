"""A crashed turn is run again: its effects come at least once, under keys that never change."""

from collections import Counter

from tests.conftest import NewCluster
from tests.support.cluster import Options
from tests.support.results import state


async def test_a_crashed_turn_repeats_its_effects_under_the_same_keys(
    new_cluster: NewCluster,
) -> None:
    async with new_cluster(workers=2) as cluster:
        task = await cluster.caller.send_task("effect a; effect b; crash; effect c")

        assert state(task) == "COMPLETED"
        lines = cluster.ledger.lines(task["id"], "effect")
        assert [(line.step, line.attempt) for line in lines] == [
            ("a", 1),
            ("b", 1),
            ("a", 2),
            ("b", 2),
            ("c", 2),
        ]
        assert len({line.pid for line in lines}) == 2
        keys = Counter(line.key for line in lines)
        assert sorted(keys.values()) == [1, 2, 2]
        assert None not in keys
        assert [worker.running for worker in cluster.workers].count(False) == 1


async def test_keys_differ_between_turns_and_tasks(new_cluster: NewCluster) -> None:
    async with new_cluster() as cluster:
        caller = cluster.caller
        first = await caller.send_task("effect a; ask more?")
        await caller.send_task("effect a", task_id=first["id"])
        await caller.send_task("effect a")

        lines = cluster.ledger.lines(None, "effect")

        assert len({line.key for line in lines}) == len(lines) == 3


async def test_at_most_once_fails_instead_of_repeating(new_cluster: NewCluster) -> None:
    once = Options(worker=("--maximum-attempts=1", "--heartbeat-timeout=3"))
    async with new_cluster(workers=2, options=once) as cluster:
        task = await cluster.caller.send_task("effect a; crash; effect b")

        assert state(task) == "FAILED"
        assert [line.step for line in cluster.ledger.lines(task["id"], "effect")] == ["a"]
