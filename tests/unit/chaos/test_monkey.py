"""What CI's storm does, before anything is started: the plan of its seed."""

import re
from itertools import product

from tests.chaos.monkey import FREEZE, KILL, SMALL, TERMINATE, plan, weather
from tests.support.processes import ROOT


def test_the_storm_of_ci_strikes_every_kind_of_process_in_every_way() -> None:
    seed, seconds = _storm_of_ci()
    struck = {(blow.target.partition("-")[0], blow.action) for blow in plan(seed, seconds)}
    every = set(product(("api", "worker", "temporal"), (KILL, FREEZE, TERMINATE)))
    assert every - struck == set()


def test_the_storm_of_ci_has_tasks_go_on_in_new_runs() -> None:
    seed, _ = _storm_of_ci()
    assert weather(seed).continue_as_new_after <= SMALL


def _storm_of_ci() -> tuple[int, float]:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (found,) = re.findall(r"^CHAOS_SEED=(\d+) CHAOS_SECONDS=(\d+) .* chaos$", script, re.MULTILINE)
    return int(found[0]), float(found[1])
