"""The processes of a run: one Temporal, API replicas and workers, each startable at any time."""

import asyncio
import sys
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from temporalio.client import Client
from temporalio.service import RPCError

from tests.support.calls import Caller, http_client
from tests.support.ledger import LedgerReader
from tests.support.processes import Process, free_port
from tests.support.temporal_server import NAMESPACE, TemporalServer
from tests.support.waiting import eventually

_READY = 90.0


@dataclass(kw_only=True)
class Fleet:
    """Everything that runs, by name."""

    folder: Path
    temporal: TemporalServer
    task_queue: str
    http: httpx.AsyncClient
    processes: dict[str, Process] = field(default_factory=dict[str, Process])
    urls: list[str] = field(default_factory=list[str])
    client: Client | None = None

    @property
    def ledger(self) -> LedgerReader:
        """What the agents really did."""
        return LedgerReader(self.folder / "ledger.jsonl")

    @property
    def engine(self) -> Client:
        """A client of Temporal, as operators and approvers have it."""
        assert self.client is not None
        return self.client

    def callers(self) -> list[Caller]:
        """One caller for each API replica."""
        return [Caller(http=self.http, url=url) for url in self.urls]

    def release(self, task_id: str) -> None:
        """Open the other door for a task that waits in `auth`."""
        folder = self.folder / "ledger.jsonl.auth"
        folder.mkdir(exist_ok=True)
        (folder / task_id).write_text("a-credential")

    async def heal(self) -> None:
        """Let every process run, and wait until all of them work."""
        for process in self.processes.values():
            process.resume()
        if not self.temporal.process.running:
            self.temporal.process.start()
        await eventually(self._temporal_answers, within=_READY, what="Temporal")
        for process in self.processes.values():
            if not process.running:
                process.start()
        await asyncio.gather(*(self._ready(url) for url in self.urls))
        await eventually(self._worker_polls, within=_READY, what="a worker", every=0.5)

    async def _temporal_answers(self) -> bool:
        try:
            if self.client is None:
                self.client = await self.temporal.client()
            await self.client.count_workflows("WorkflowType = 'none'")
        except (RPCError, RuntimeError):
            return False
        return True

    async def _ready(self, url: str) -> None:
        async def look() -> bool:
            try:
                response = await self.http.get(f"{url}/readyz", timeout=5)
            except httpx.HTTPError:
                return False
            return response.status_code == 200

        await eventually(look, within=_READY, what=f"readiness of {url}", every=0.2)

    async def _worker_polls(self) -> bool:
        """Say whether every worker process has told that it works since it was started."""
        return all(
            "works on task queue" in process.output()
            for name, process in self.processes.items()
            if name.startswith("worker")
        )


@asynccontextmanager
async def running_fleet(
    folder: Path, *, apis: int = 2, workers: int = 2, env: Mapping[str, str] | None = None
) -> AsyncGenerator[Fleet]:
    """Run a fleet for as long as the block lasts."""
    temporal = TemporalServer(folder)
    async with http_client() as http:
        fleet = Fleet(
            folder=folder,
            temporal=temporal,
            task_queue=f"chaos-{uuid.uuid4().hex[:8]}",
            http=http,
        )
        environment = {
            "TEMPORAL_ADDRESS": temporal.address,
            "TEMPORAL_NAMESPACE": NAMESPACE,
            "TASK_QUEUE": fleet.task_queue,
            "LEDGER": str(folder / "ledger.jsonl"),
            "PYTHONUNBUFFERED": "1",
            **(env or {}),
        }
        commands: dict[str, list[str]] = {}
        for number in range(1, apis + 1):
            port = free_port()
            fleet.urls.append(f"http://127.0.0.1:{port}")
            commands[f"api-{number}"] = ["-m", "tests.chaos", str(port)]
        for number in range(1, workers + 1):
            commands[f"worker-{number}"] = [
                *("-m", "a2a_temporal", "worker", "tests.chaos.agents:bench"),
                *("--task-queue", fleet.task_queue, "--grace", "1"),
            ]
        for name, command in commands.items():
            fleet.processes[name] = Process(
                name, [sys.executable, *command], env=environment, log=folder / f"{name}.log"
            )
        try:
            await fleet.heal()
            yield fleet
        finally:
            everything = [*fleet.processes.values(), temporal.process]
            await asyncio.gather(*(process.put_away() for process in everything))
