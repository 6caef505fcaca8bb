"""A workflow in TypeScript is an A2A task through the public contract of the log alone."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest_asyncio
from temporalio.client import Client, WorkflowExecutionStatus

from a2a_temporal import PlainWorkflow, TemporalRequestHandler, create_app
from a2a_temporal._log.answers import Answer
from a2a_temporal._server.approvals import Approvals
from a2a_temporal._server.waiting import Person
from a2a_temporal.testing import card_of
from tests.support.calls import refused
from tests.support.http_app import in_process
from tests.support.processes import Process
from tests.support.results import artifact_data, artifact_text, state, status_text
from tests.support.temporal_server import TemporalServer
from tests.support.typescript import typescript_worker
from tests.support.waiting import eventually


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A worker in TypeScript, and how to serve its workflows."""

    client: Client
    queue: str
    worker: Process

    def app(self, workflow: str | PlainWorkflow) -> Any:
        """An app that serves one of its workflows."""
        named = workflow if isinstance(workflow, PlainWorkflow) else PlainWorkflow(type=workflow)
        handler = TemporalRequestHandler(
            self.client, agent_card=card_of(named), task_queue=self.queue, workflow=workflow
        )
        return in_process(create_app(handler))


@pytest_asyncio.fixture(scope="module")
async def stage(temporal: TemporalServer, tmp_path_factory: Any) -> AsyncIterator[Stage]:
    folder: Path = tmp_path_factory.mktemp("typescript")
    queue = f"typescript-{uuid.uuid4().hex[:8]}"
    async with typescript_worker(temporal, folder, task_queue=queue) as worker:
        yield Stage(client=await temporal.client(), queue=queue, worker=worker)


async def test_it_asks_and_goes_on_after_the_answer(stage: Stage) -> None:
    async with stage.app("refundTask") as caller:
        task = await caller.send_task("order 66")
        assert state(task) == "INPUT_REQUIRED"
        assert status_text(task) == "Refund order 66? Reply 'approve' or 'reject'."
        again = await caller.send_task("hm", task_id=task["id"])
        assert state(again) == "INPUT_REQUIRED"
        assert "exactly" in status_text(again)
        done = await caller.send_task("approve", task_id=task["id"])
        assert state(done) == "COMPLETED"
        assert artifact_text(done, "receipt") == "refunded order 66"
        await refused(caller.send("approve", task_id=task["id"]), code=-32004)


async def test_an_operator_approves_by_signal_and_a_stream_sees_it(stage: Stage) -> None:
    async with stage.app("refundTask") as caller:
        task = await caller.send_task("order 67")
        workflow = stage.client.get_workflow_handle(task["id"])
        await workflow.signal("approve", {"by": "ann"})

        async def completed() -> bool:
            return state(await caller.get(task["id"])) == "COMPLETED"

        await eventually(completed, within=20)
        said = [
            part.get("text")
            for m in (await caller.get(task["id"]))["history"]
            for part in m["parts"]
        ]
        assert "ann said yes" in said


async def test_an_answer_given_while_it_is_away_is_not_lost(stage: Stage) -> None:
    async with stage.app("refundTask") as caller:
        task = await caller.send_task("order 68")
        stage.worker.kill()
        twice = {"task_id": task["id"], "message_id": f"no-{task['id']}"}
        await caller.start("reject", **twice)
        await caller.start("reject", **twice)
        printed = len(stage.worker.output())
        stage.worker.start()
        await stage.worker.logged("ready", within=90, since=printed)

        async def rejected() -> bool:
            return state(await caller.get(task["id"])) == "REJECTED"

        await eventually(rejected, within=30)
        assert status_text(await caller.get(task["id"])) == "Not refunded."


async def test_it_is_found_in_lists_and_answered_in_the_inbox(stage: Stage) -> None:
    async with stage.app("refundTask") as caller:
        task = await caller.send_task("order 69")

        async def listed() -> bool:
            page = await caller.list(status="TASK_STATE_INPUT_REQUIRED")
            return task["id"] in [each["id"] for each in page["tasks"]]

        await eventually(listed, within=30)
        approvals = Approvals(stage.client)
        boss = Person("boss", verified=True, operator=True)
        waiting = await approvals.task(boss, task["id"])
        outcome = await approvals.decide(boss, waiting, Answer("approve", token="once"))
        await approvals.aclose()
        assert outcome.handled
        assert not outcome.refused
        done = await caller.get(task["id"])
        assert state(done) == "COMPLETED"


async def test_it_is_canceled(stage: Stage) -> None:
    async with stage.app("refundTask") as caller:
        task = await caller.send_task("order 70")
        assert state(await caller.cancel(task["id"])) == "CANCELED"
        described = await stage.client.get_workflow_handle(task["id"]).describe()
        assert described.status == WorkflowExecutionStatus.CANCELED


async def test_one_that_knows_nothing_of_a2a_is_served_as_it_is(stage: Stage) -> None:
    async with stage.app(PlainWorkflow(type="shout")) as caller:
        task = await caller.send_task("hello")
        assert state(task) == "COMPLETED"
        assert artifact_data(task, "result") == {"shouted": "HELLO"}
