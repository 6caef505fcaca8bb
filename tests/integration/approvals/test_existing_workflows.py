"""A workflow that knows nothing of A2A is served as it is: its run is the task."""

from datetime import timedelta

import pytest
from a2a.types import Message
from a2a.utils.errors import InvalidParamsError
from temporalio.client import Client

from a2a_temporal import Agent, PlainWorkflow, Signal
from a2a_temporal._log.protojson import to_json
from a2a_temporal.testing import card_of, running_agent, state_of, status_text
from a2a_temporal.workflow import data_of, text_of
from tests.integration.approvals.old_flows import OldHello, OldOrder


def _confirm(message: Message) -> Signal:
    word = text_of(message)
    if word not in ("yes", "no"):
        raise InvalidParamsError("Say 'yes' or 'no'.")
    return Signal("confirm", [word == "yes"])


HELLO = PlainWorkflow(type="hello-v1")
ORDER = PlainWorkflow(type="order-v1", input=lambda message: [data_of(message), 7], answer=_confirm)
GREETER = Agent(card=card_of(HELLO), workflow=HELLO, workflows=[OldHello])
SHOP = Agent(card=card_of(ORDER), workflow=ORDER, workflows=[OldOrder])


async def test_its_result_is_the_artifact(skipping: Client) -> None:
    async with running_agent(skipping, GREETER) as agent:
        task = await agent.send("Rita")
        assert state_of(task) == "completed"
        assert task.artifacts[0].parts[0].text == "Hello Rita"
        with pytest.raises(Exception, match="has ended"):
            await agent.send("again", task=task)
        await agent.replay()


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
