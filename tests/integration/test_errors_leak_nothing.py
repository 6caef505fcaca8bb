"""What an agent's exception says stays with the operator; the client gets a FAILED task."""

import json
import re

from tests.support.calls import Caller, over_every_binding
from tests.support.cluster import Cluster
from tests.support.results import Json, state, status_text
from tests.support.waiting import eventually

SECRETS = ("hunter2", "/srv/agent", "credentials.toml", "ValueError", "Traceback", "A2AAgentTask")


async def _every_byte(caller: Caller, cluster: Cluster, command: str) -> tuple[Json, str]:
    """Run a command in every mode; return the last task and all a client could ever read."""
    seen: list[str] = []
    blocking = await caller.send("echo before; " + command)
    seen.append(json.dumps(blocking))
    async with caller.stream(command) as frames:
        seen.append(json.dumps(await frames.to_the_end(within=30)))
    started = await caller.start(command)

    async def failed() -> Json | None:
        task = await caller.get(started["id"])
        return task if state(task) == "FAILED" else None

    task = await eventually(failed, within=30)
    assert state(blocking["task"]) == "FAILED"
    return task, "\n".join([*seen, json.dumps(task)])


async def test_an_unexpected_exception_is_reported_without_its_text(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        for command in ("boom", "raise group", "raise base", "raise timeout", "nan"):
            task, seen = await _every_byte(caller, cluster, command)
            for secret in SECRETS:
                assert secret not in seen, f"{secret} after {command}: {seen}"
            reference = re.search(r"[0-9a-f]{8,}", status_text(task))
            assert reference, status_text(task)
            logs = "".join(worker.output() for worker in cluster.workers)
            assert reference.group() in logs

    await over_every_binding(cluster.caller, scenario)


async def test_the_operator_finds_the_whole_story(cluster: Cluster) -> None:
    task = await cluster.caller.send_task("boom")
    reference = re.search(r"[0-9a-f]{8,}", status_text(task))
    assert reference
    history = await cluster.workflow(task["id"]).fetch_history()
    assert "hunter2-SECRET" in history.to_json()
    logs = "".join(worker.output() for worker in cluster.workers)
    assert reference.group() in logs
    assert "Traceback" in logs.split(reference.group(), 1)[1]


async def test_a_public_error_keeps_its_text(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        task, seen = await _every_byte(caller, cluster, "fail-public quota exceeded")
        assert status_text(task) == "quota exceeded"
        assert "Traceback" not in seen

    await over_every_binding(cluster.caller, scenario)
