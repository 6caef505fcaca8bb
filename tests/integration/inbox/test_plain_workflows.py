"""A workflow that knows nothing of A2A asks nothing here, and no answer to it is taken and lost."""

import pytest

from a2a_temporal._log.answers import Answer
from a2a_temporal._server.approvals import Approvals
from a2a_temporal._server.waiting import Person
from a2a_temporal.testing import RefusedError, running_agent, state_of
from tests.integration.approvals.test_existing_workflows import SHOP
from tests.integration.inbox.conftest import Office
from tests.integration.inbox.test_approvals_command import approvals
from tests.support.waiting import eventually


async def test_it_is_shown_when_asked_for_and_answered_by_its_agent(office: Office) -> None:
    async with running_agent(office.agent.temporal, SHOP) as shop:
        user = shop.as_user(office.name("carl"))
        task = await user.send({"item": "chair"}, wait=False)
        asked = await office.ask()

        async def is_listed() -> bool:
            return asked.id in (await approvals(office, "list")).out

        await eventually(is_listed, within=20, what="the task that asks")
        assert task.id not in (await approvals(office, "list")).out

        shown = await approvals(office, "show", task.id)
        assert (shown.code, "knows nothing of A2A" in shown.out) == (0, True)
        async with office.visit("carl") as carl:
            page = await carl.task(task.id)
            assert (page.status, "knows nothing of A2A" in page.text) == (200, True)

        for words in (["answer", task.id, "yes"], ["approve", task.id], ["reject", task.id]):
            refused = await approvals(office, *words)
            assert (refused.code, "knows nothing of A2A" in refused.err) == (1, True)
        assert state_of(await user.get(task)) == "working"

        assert state_of(await user.send("yes", task=task)) == "completed"
        late = await approvals(office, "answer", task.id, "no")
        assert (late.code, "has ended" in late.err) == (1, True)
        await shop.replay()


@pytest.mark.parametrize("verdict", ["answer", "comment"])
async def test_nothing_is_sent_to_it(office: Office, verdict: str) -> None:
    opened = Approvals(office.agent.temporal)
    async with running_agent(office.agent.temporal, SHOP) as shop:
        task = await shop.send({"item": "chair"}, wait=False)
        answer = Answer("comment" if verdict == "comment" else "answer", comment="x", answer="x")
        operator = Person("", operator=True)
        waiting = await opened.task(operator, task.id)
        with pytest.raises(RefusedError, match="knows nothing of A2A"):
            await opened.decide(operator, waiting, answer)
        history = await shop.workflow(task).fetch_history()
        assert not [each for each in history.events if "SIGNALED" in str(each)]
    await opened.aclose()
