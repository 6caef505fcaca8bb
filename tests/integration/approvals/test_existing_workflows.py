"""A workflow that knows nothing of A2A is served as it is: its run is the task."""

import asyncio
import uuid
from datetime import timedelta

import pytest
from a2a.types import ListTasksRequest, Message, Part, Role, SubscribeToTaskRequest, Task
from a2a.utils.errors import InvalidParamsError
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError

from a2a_temporal import Agent, PlainWorkflow, Signal
from a2a_temporal._log.protojson import to_json
from a2a_temporal.testing import RunningAgent, card_of, running_agent, state_of, status_text
from a2a_temporal.workflow import data_of, text_of
from tests.integration.approvals.existing_flows import OldCollector, OldHello, OldOrder, OldReport
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually, within


def _confirm(message: Message) -> Signal:
    word = text_of(message)
    if word not in ("yes", "no"):
        raise InvalidParamsError("Say 'yes' or 'no'.")
    return Signal("confirm", [word == "yes"])


HELLO = PlainWorkflow(type="hello-v1")
ORDER = PlainWorkflow(type="order-v1", input=lambda message: [data_of(message), 7], answer=_confirm)
COLLECT = PlainWorkflow(type="collect-v1", answer=lambda message: Signal("add", [text_of(message)]))
GREETER = Agent(card=card_of(HELLO), workflow=HELLO, workflows=[OldHello])
SHOP = Agent(card=card_of(ORDER), workflow=ORDER, workflows=[OldOrder])

COLLECTOR = Agent(card=card_of(COLLECT), workflow=COLLECT, workflows=[OldCollector])
REPORT = PlainWorkflow(type="report-v1")
REPORTER = Agent(card=card_of(REPORT), workflow=REPORT, workflows=[OldReport])


async def test_its_result_is_the_artifact(skipping: Client) -> None:
    async with running_agent(skipping, GREETER) as agent:
        task = await agent.send("Rita")
        assert state_of(task) == "completed"
        assert task.artifacts[0].parts[0].text == "Hello Rita"
        with pytest.raises(Exception, match="has ended"):
            await agent.send("again", task=task)
        await agent.replay()


@pytest.mark.parametrize("kind", ["mean", "large", "nested", "half a character"])
async def test_a_result_that_is_no_json_is_shown_as_text(skipping: Client, kind: str) -> None:
    async with running_agent(skipping, REPORTER) as agent:
        good = await agent.send("sum")
        task = await agent.send(kind)
        assert state_of(task) == "completed"
        assert task.artifacts[0].parts[0].text
        assert await agent.user.get(task) == task

        async def listed() -> bool:
            request = ListTasksRequest(include_artifacts=True)
            found = (await agent.user.client.list_tasks(request)).tasks
            artifacts = {each.id: each.artifacts for each in found}
            return all(artifacts.get(each.id) == each.artifacts for each in (task, good))

        await eventually(listed, within=20)


async def test_its_signals_are_answers(skipping: Client) -> None:
    async with running_agent(skipping, SHOP) as agent:
        task = await agent.send({"item": "chair", "count": 2}, wait=False)
        assert state_of(task) == "working"
        with pytest.raises(InvalidParamsError, match="Say 'yes' or 'no'"):
            await agent.send("perhaps", task=task)
        done = await agent.send("yes", task=task)
        assert state_of(done) == "completed"
        assert to_json(done.artifacts[0])["parts"] == [
            {"data": {"shipped": "chair", "count": 2.0, "confirmed": True}}
        ]
        assert [text_of(message) for message in done.history] == ["", "yes"]
        await agent.replay()


@pytest.mark.parametrize(("end", "state"), [("cancel", "canceled"), ("terminate", "failed")])
async def test_its_end_is_the_tasks_end(skipping: Client, end: str, state: str) -> None:
    async with running_agent(skipping, SHOP) as agent:
        task = await agent.send({"item": "chair"}, wait=False)
        workflow = agent.workflow(task)
        await (workflow.cancel() if end == "cancel" else workflow.terminate())
        task = await agent.until(task, state)
        assert ("terminated" in status_text(task)) == (end == "terminate")


async def test_its_timers_run(skipping: Client) -> None:
    async with running_agent(skipping, SHOP) as agent:
        task = await agent.send({"item": "chair"}, wait=False)
        await agent.skip(task, timedelta(days=3, minutes=1))
        task = await agent.until(task, "failed", "completed")
        assert state_of(task) == "failed"


async def test_a_task_whose_code_keeps_failing_can_be_canceled_by_force(skipping: Client) -> None:
    async with running_agent(skipping, SHOP) as agent:
        task = await agent.send({"item": "nothing"}, wait=False)
        await agent.workflow(task).terminate()
        task = await agent.until(task, "failed")
        assert "hunter2" not in str(task)


async def test_its_runs_are_one_task(skipping: Client) -> None:
    async with running_agent(skipping, COLLECTOR) as agent:
        task = await agent.send("order", wait=False)
        subscription = asyncio.create_task(_subscribed(agent, task))
        said = [_word(task, word) for word in ("a", "b", "c")]
        for number, message in enumerate(said, start=1):
            await agent.send(message, task=task, wait=False)
            await eventually(lambda number=number: _runs(agent, task, number + 1), within=20)
            known = await agent.user.get(task)
            assert [text_of(each) for each in known.history] == ["order", *"abc"[:number]]

        again = await agent.send(said[0], task=task, wait=False)
        assert [text_of(each) for each in again.history] == ["order", "a", "b", "c"]
        done = await agent.send("d", task=task)

        assert state_of(done) == "completed"
        assert done.artifacts[0].parts[0].text == "order: a b c d"
        assert [text_of(each) for each in done.history] == ["order", "a", "b", "c", "d"]
        assert await agent.user.get(task) == done
        kinds = await within(20, subscription)
        assert kinds == ["task", "artifact_update", "status_update"]


async def test_what_is_left_of_its_runs_is_the_task(temporal: TemporalServer) -> None:
    async with running_agent(await temporal.client(), COLLECTOR) as agent:
        task = await agent.send("order", wait=False)
        for number, word in enumerate(("a", "b"), start=1):
            await agent.send(word, task=task, wait=False)
            await eventually(lambda number=number: _runs(agent, task, number + 1), within=20)
        await _delete_first_run(agent, task)
        left = await agent.user.get(task)
        assert [text_of(each) for each in left.history] == ["order", "b"]
        await agent.send("c", task=task, wait=False)
        done = await agent.send("d", task=task)
        assert done.artifacts[0].parts[0].text == "order: a b c d"


def _word(task: Task, word: str) -> Message:
    parts = [Part(text=word)]
    return Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=parts, task_id=task.id)


async def _subscribed(agent: RunningAgent, task: Task) -> list[str | None]:
    stream = agent.user.client.subscribe(SubscribeToTaskRequest(id=task.id))
    return [event.WhichOneof("payload") async for event in stream]


async def _runs(agent: RunningAgent, task: Task, number: int) -> bool:
    """Say whether a task has come to a run that has done its first step."""
    described = await agent.workflow(task).describe()
    query = f"WorkflowId = '{task.id}'"
    settled = not described.raw_description.HasField("pending_workflow_task")
    return settled and (await agent.temporal.count_workflows(query)).count == number


async def _delete_first_run(agent: RunningAgent, task: Task) -> None:
    """Delete the first run of a task, as retention would."""
    events = agent.workflow(task).fetch_history_events()
    started = (await anext(aiter(events))).workflow_execution_started_event_attributes
    first = WorkflowExecution(workflow_id=task.id, run_id=started.first_execution_run_id)
    await agent.temporal.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(
            namespace=agent.temporal.namespace,
            workflow_execution=first,
        )
    )

    async def gone() -> bool:
        try:
            await agent.temporal.get_workflow_handle(task.id, run_id=first.run_id).describe()
        except RPCError:
            return True
        return False

    await eventually(gone, within=30)
