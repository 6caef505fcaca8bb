"""N server processes and M worker processes of the bench agent on one task queue."""

import asyncio
import sys
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._log.wire import CONTEXT_ATTRIBUTE, EVENTS_SIGNAL
from a2a_temporal._testing.replaying import replay_all
from tests.bench_agent.__main__ import parse, worker_agent
from tests.support.calls import JSONRPC, Caller, http_client
from tests.support.ledger import LedgerReader
from tests.support.processes import Process, free_port
from tests.support.temporal_server import NAMESPACE, TemporalServer
from tests.support.waiting import eventually

QUICK_RETRY = ("--heartbeat-timeout=3", "--heartbeat-interval=0.5")
"""Worker options with which a lost worker is noticed within a test's patience."""


@dataclass(kw_only=True)
class Cluster:
    """What runs together; made by `running_cluster`."""

    temporal: TemporalServer
    folder: Path
    task_queue: str
    http: httpx.AsyncClient
    client: Client
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    apis: list["Api"] = field(default_factory=list["Api"])
    workers: list[Process] = field(default_factory=list[Process])

    @property
    def ledger(self) -> LedgerReader:
        """What the agent really did."""
        return LedgerReader(self.folder / "ledger.jsonl")

    @property
    def caller(self) -> Caller:
        """A caller of the first server over JSON-RPC."""
        return self.callers()[0]

    def callers(self, *, binding: str = JSONRPC) -> list[Caller]:
        """One caller for each server."""
        return [Caller(http=self.http, url=api.url, binding=binding) for api in self.apis]

    async def add_api(self, *options: str) -> "Api":
        """Start a further server and wait until it serves its card."""
        api = self._new_api(options)
        api.process.start()
        await api.ready(self.http)
        return api

    async def add_worker(self, *options: str) -> Process:
        """Start a further worker and wait until it polls."""
        worker = self._new_worker(options)
        worker.start()
        await worker.logged(READY, within=30)
        return worker

    async def restart(self, worker: Process) -> None:
        """Start a worker again that has ended."""
        printed = len(worker.output())
        worker.start()
        await worker.logged(READY, within=30, since=printed)

    def release(self, task_id: str, secret: str = "a-credential") -> None:
        """Open the other door for a task that waits in `auth`."""
        folder = self.folder / "auth"
        folder.mkdir(exist_ok=True)
        (folder / task_id).write_text(secret)

    async def replay_everything(self, options: Sequence[str]) -> None:
        """Replay the history of every task there has been; none may be nondeterministic.

        Args:
            options: Options of the workers that ran them; they decide when a run is over.
        """
        replayer = worker_agent(parse(["worker", *options])).replayer(self.client)
        failures = await replay_all(replayer, self.client, self.task_queue)
        assert not failures, failures

    def workflow(self, task_id: str) -> WorkflowHandle[object, object]:
        """The workflow of a task, as an operator sees it."""
        return self.client.get_workflow_handle(task_id)

    async def workflow_status(self, task_id: str) -> WorkflowExecutionStatus | None:
        """The status Temporal shows for a task."""
        return (await self.workflow(task_id).describe()).status

    async def requests(self, task_id: str) -> list[str]:
        """What clients have put into a task's history since its start: messages and cancels."""
        found: list[str] = []
        async for event in self.workflow(task_id).fetch_history_events():
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
                found.append("cancel")
            signal = event.workflow_execution_signaled_event_attributes.signal_name
            if signal and signal != EVENTS_SIGNAL:
                found.append(signal)
        return found

    async def history(self, task_id: str) -> list[str]:
        """The names of the events in the history of a task, without their common prefix."""
        return [
            EventType.Name(event.event_type).removeprefix("EVENT_TYPE_")
            async for event in self.workflow(task_id).fetch_history_events()
        ]

    async def workflows_of_context(self, context_id: str) -> list[str]:
        """The ids of all workflows that carry a contextId, once visibility shows them."""
        query = f"{CONTEXT_ATTRIBUTE} = '{context_id}'"
        return [found.id async for found in self.client.list_workflows(query)]

    async def runs(self, workflow_id: str) -> int:
        """The number of runs, past and present, that visibility shows under a workflow id."""
        query = f"WorkflowId = '{workflow_id}'"
        return (await self.client.count_workflows(query)).count

    async def delete(self, workflow_id: str) -> None:
        """Delete a workflow as retention would, and wait until it is gone."""

        async def closed() -> bool:
            return await self.workflow_status(workflow_id) != WorkflowExecutionStatus.RUNNING

        async def gone() -> bool:
            return not await self.known_to_temporal(workflow_id)

        # A task has ended a moment before its workflow has; an open one would be terminated.
        await eventually(closed, within=10)
        await self.client.workflow_service.delete_workflow_execution(
            DeleteWorkflowExecutionRequest(
                namespace=NAMESPACE,
                workflow_execution=WorkflowExecution(workflow_id=workflow_id),
            )
        )
        await eventually(gone, within=30)

    async def known_to_temporal(self, workflow_id: str) -> bool:
        """Say whether any workflow has, or had, an id."""
        try:
            await self.workflow(workflow_id).describe()
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            return False
        return True

    def worker_of(self, task_id: str) -> Process:
        """The worker that wrote the latest ledger line of a task."""
        pid = self.ledger.lines(task_id)[-1].pid
        return next(worker for worker in self.workers if worker.pid == pid)

    async def start_all(self, apis: int, workers: int, options: "Options") -> None:
        """Start everything at once."""
        new_apis = [self._new_api(options.api) for _ in range(apis)]
        new_workers = [self._new_worker(options.worker) for _ in range(workers)]
        for process in [*(api.process for api in new_apis), *new_workers]:
            process.start()
        await asyncio.gather(
            *(api.ready(self.http) for api in new_apis),
            *(worker.logged(READY, within=60) for worker in new_workers),
        )

    def _new_api(self, options: Sequence[str]) -> "Api":
        port = free_port()
        command = [sys.executable, "-m", "tests.bench_agent", "api", f"--port={port}", *options]
        process = self._process(f"api-{len(self.apis) + 1}", command)
        api = Api(process=process, url=f"http://127.0.0.1:{port}")
        self.apis.append(api)
        return api

    def _new_worker(self, options: Sequence[str]) -> Process:
        command = [sys.executable, "-m", "tests.bench_agent", "worker", *options]
        worker = self._process(f"worker-{len(self.workers) + 1}", command)
        self.workers.append(worker)
        return worker

    def _process(self, name: str, command: Sequence[str]) -> Process:
        return Process(
            name,
            command,
            env={
                "TEMPORAL_ADDRESS": self.temporal.address,
                "TEMPORAL_NAMESPACE": NAMESPACE,
                "TASK_QUEUE": self.task_queue,
                "LEDGER": str(self.folder / "ledger.jsonl"),
                "AUTH_DIR": str(self.folder / "auth"),
                "PYTHONUNBUFFERED": "1",
                **self.env,
            },
            log=self.folder / f"{name}.log",
        )


READY = "bench worker is ready"


@dataclass(frozen=True, kw_only=True)
class Api:
    """One server process."""

    process: Process
    url: str

    async def ready(self, http: httpx.AsyncClient, *, within: float = 60) -> None:
        """Wait until the card is served."""

        async def look() -> bool:
            self.process.must_run()
            try:
                response = await http.get(f"{self.url}/.well-known/agent-card.json", timeout=5)
            except httpx.TransportError:
                return False
            return response.status_code == 200

        await eventually(look, within=within, what=f"the card of {self.process.name}")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Command-line options of the processes of a cluster, and what their environment adds."""

    api: Sequence[str] = ()
    worker: Sequence[str] = QUICK_RETRY
    env: Mapping[str, str] = field(default_factory=dict[str, str])


@asynccontextmanager
async def running_cluster(
    temporal: TemporalServer,
    folder: Path,
    *,
    apis: int = 2,
    workers: int = 2,
    options: Options = Options(),
) -> AsyncGenerator[Cluster]:
    """Run a cluster on a task queue of its own for as long as the block lasts.

    Afterwards every history it has made is replayed.
    """
    async with http_client() as http:
        cluster = Cluster(
            temporal=temporal,
            folder=folder,
            task_queue=f"bench-{uuid.uuid4().hex[:8]}",
            http=http,
            client=await temporal.client(env=options.env),
            env=options.env,
        )
        try:
            await cluster.start_all(apis, workers, options)
            yield cluster
        finally:
            processes = [*(api.process for api in cluster.apis), *cluster.workers]
            await asyncio.gather(*(process.put_away() for process in processes))
        await cluster.replay_everything(options.worker)
