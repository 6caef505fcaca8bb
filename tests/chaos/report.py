"""What a run did, in a few lines that a person reads."""

from collections import Counter

from tests.chaos.journal import Journal
from tests.support.ledger import Line
from tests.support.results import Json, state


def report(
    journal: Journal, finals: dict[str, Json], lines: list[Line], *, seed: int, seconds: float
) -> str:
    """Return the report of a run."""
    ends = Counter(state(task) for task in finals.values())
    resumed = sum(each.opened - 1 for each in journal.streamed)
    compared = sum(each.held is not None for each in journal.streamed)
    keys = {line.key for line in lines if line.kind == "effect"}
    effects = sum(line.kind == "effect" for line in lines)
    acknowledged = sum(bool(each.acknowledged) for each in journal.said)
    refused = sum(bool(each.refused and not each.acknowledged) for each in journal.said)
    rows = [
        f"CHAOS_SEED={seed}, {seconds:.0f} s",
        f"tasks      {len(finals)}: {_counted(ends)}",
        f"messages   {acknowledged} acknowledged, {refused} refused, {len(journal.said)} in all",
        f"streams    {len(journal.streamed)} compared ({compared} to the end), {resumed} resumed",
        f"effects    {len(keys)} keys, {effects - len(keys)} repeated by further attempts",
        f"looks      {len(journal.seen)}",
        f"faults     {len(journal.faults)}",
        *(f"  {name:<42}{count:>7}" for name, count in sorted(journal.counts.items())),
    ]
    return "\n".join(rows)


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counter.most_common())
