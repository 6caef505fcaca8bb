"""The examples by the command line: servers and workers are real processes, killed midway."""

import json
import sys
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.calls import Caller, http_client
from tests.support.processes import Process, free_port
from tests.support.results import Json, state, status_text
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

EXAMPLES = {
    "workflows.expense:agent": ("42.50 EUR to Blue Taxi", "finance", 2, "payment"),
    "workflows.review:agent": ("Bees are back\nThe roofs hum.", "editors", 1, "article"),
}


@pytest.mark.parametrize("reference", EXAMPLES)
async def test_an_example_survives_the_restart_of_everything(
    temporal: TemporalServer, tmp_path: Path, reference: str
) -> None:
    text, group, quorum, effect = EXAMPLES[reference]
    async with _running(temporal, tmp_path, reference) as (caller, processes):
        task = await caller.send_task(text)
        assert state(task) == "INPUT_REQUIRED"

        for process in processes:
            process.kill()
        workflow = (await temporal.client()).get_workflow_handle(task["id"])
        for number in range(quorum):
            await workflow.signal("approve", {"by": f"person {number}", "as": group})
        for process in processes:
            process.start()

        async def completed() -> bool:
            try:
                return state(await caller.get(task["id"])) == "COMPLETED"
            except httpx.TransportError:
                return False

        await eventually(completed, within=60, what="COMPLETED")
        (done,) = _effects(tmp_path, effect)
        assert done["kind"] == effect


def _effects(folder: Path, kind: str) -> list[Json]:
    return [json.loads(path.read_text()) for path in folder.glob(f"{kind}-*.json")]


async def test_a_change_needs_proof_of_who_approves(
    temporal: TemporalServer, tmp_path: Path
) -> None:
    async with _running(temporal, tmp_path, "workflows.change:agent") as (caller, _):
        task = await caller.send_task("shop 2.4.1")
        refused = await caller.send_task("approve", task_id=task["id"])
        assert state(refused) == "INPUT_REQUIRED"
        assert "server has authenticated" in status_text(refused)
        assert state(await caller.cancel(task["id"])) == "CANCELED"


@asynccontextmanager
async def _running(
    temporal: TemporalServer, folder: Path, reference: str
) -> AsyncGenerator[tuple[Caller, list[Process]]]:
    port = free_port()
    env = {
        "TEMPORAL_ADDRESS": temporal.address,
        "TASK_QUEUE": f"example-{uuid.uuid4().hex[:8]}",
        "EXAMPLES_DIR": str(folder),
    }
    command = [sys.executable, "-m", "a2a_temporal"]
    processes = [
        Process(
            "example-server",
            [*command, "serve", reference, f"--port={port}"],
            env=env,
            log=folder / "server.log",
        ),
        Process("example-worker", [*command, "worker", reference], env=env, log=folder / "w.log"),
    ]
    async with http_client() as http:
        caller = Caller(http=http, url=f"http://127.0.0.1:{port}")

        async def served() -> bool:
            try:
                return (await http.get(f"{caller.url}/readyz")).status_code == 200
            except httpx.TransportError:
                return False

        try:
            for process in processes:
                process.start()
            await eventually(served, within=60, what="readiness")
            yield caller, processes
        finally:
            for process in processes:
                await process.put_away()
