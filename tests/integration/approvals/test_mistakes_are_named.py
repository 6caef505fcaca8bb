"""A mistake in putting an agent together is named, with its cure, where it was made."""

import logging
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import Worker

from a2a_temporal._cli.agents import AgentLoadError, load_agent
from a2a_temporal.testing import running_agent, state_of
from a2a_temporal.workflow import TaskRun, TaskStart
from tests.support.waiting import eventually


@workflow.defn
class TwoRuns:
    """Makes two."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.tasks = [TaskRun(start), TaskRun(start)]

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        return "done"


@workflow.defn
class OwnApprove:
    """Has a signal of a name that is taken."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.signal
    def approve(self, by: str) -> None:
        """Approve."""

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        return "done"


@workflow.defn
class Fine:
    """Makes one."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        self.task = TaskRun(start)

    @workflow.run
    async def run(self, start: TaskStart) -> str:
        return "done"


@pytest.mark.parametrize(
    ("wrong", "text"),
    [(TwoRuns, "a second TaskRun. Make one"), (OwnApprove, "Give it another name")],
)
async def test_a_misuse_fails_the_task_and_stands_in_the_workers_log(
    skipping: Client, wrong: type[Any], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_agent(skipping, wrong) as running:
        with caplog.at_level(logging.ERROR):
            task = await running.send("go")
        assert state_of(task) == "failed"
        with pytest.raises(WorkflowFailureError) as failed:
            await running.workflow(task).result()
    assert text in str(failed.value.cause)
    assert text in caplog.text


async def test_a_worker_without_the_plugin_is_told_so(skipping: Client) -> None:
    with pytest.raises(RuntimeError) as refused:
        Worker(skipping, task_queue="nobody", workflows=[Fine])
    causes: list[str] = []
    cause: BaseException | None = refused.value
    while cause is not None:
        causes.append(str(cause))
        cause = cause.__cause__ or cause.__context__
    assert any("lacks the A2APlugin" in each for each in causes), causes


def test_a_workflow_named_on_the_command_line_is_called_one() -> None:
    with pytest.raises(AgentLoadError, match=r"is a workflow: write .*workflow=Fine"):
        load_agent(f"{__name__}:Fine")


async def test_a_server_whose_queue_has_no_worker_says_so(
    skipping: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_agent(skipping, Fine, worker=False) as running:
        app = running.agent.app(running.handler)
        with caplog.at_level(logging.WARNING):
            async with app.router.lifespan_context(app):
                await eventually(lambda: "No worker listens" in caplog.text, within=30)
    assert running.task_queue in caplog.text
