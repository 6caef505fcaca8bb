"""The test kit kills and restarts worker, server and Temporal; what the page shows is run here."""

import re
from typing import Any

from a2a_temporal.testing import running_processes, state_of
from tests.support.processes import ROOT

_PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")


async def test_the_pages_test_of_a_restart_passes() -> None:
    (code,) = re.findall(r"```python\n(from[^`]*running_processes\([^`]*)```", _PAGE)
    shown: dict[str, Any] = {}
    exec(compile(code, "docs/testing.md", "exec"), shown)  # the page's own code
    test = shown["test_an_expense_survives_a_restart_of_everything"]
    await test()


async def test_a_turn_whose_worker_is_killed_is_finished_by_the_next_one() -> None:
    async with running_processes("a2a_temporal._demo.agent:agent") as agent:
        task = await agent.user.send("count", wait=False)
        await agent.until(task, "working")
        agent.kill_worker()
        agent.kill_server()
        await agent.start_server()
        await agent.start_worker()
        assert state_of(await agent.until(task, "completed")) == "completed"
