"""Who decided is named alike everywhere: an anonymous A2A caller is no operator."""

import json

from a2a_temporal.inbox import Person
from a2a_temporal.testing import state_of
from tests.integration.inbox.conftest import Office
from tests.integration.inbox.test_approvals_command import approvals


async def test_an_anonymous_caller_is_named_so_over_a2a_in_the_terminal_and_in_the_inbox(
    office: Office,
) -> None:
    nobody = office.agent.as_user("")
    task = await nobody.send('{"approvers": ["*"]}')
    done = await nobody.send("approve", task=task)
    assert state_of(done) == "completed"
    (record,) = await office.agent.records(task)
    assert (record.by, record.verified, record.channel) == ("", False, "a2a")

    seen = {"A2A": str(done.history)}
    shown = await approvals(office, "show", task.id)
    seen["terminal"] = shown.out
    as_json = json.loads((await approvals(office, "show", task.id, "--json")).out)
    assert [(each["by"], each["door"]) for each in as_json["records"]] == [("", "a2a")]
    office.tokens[office.token("dora")] = Person(office.name("dora"), verified=True)
    async with office.visit("dora", office.new_inbox()) as dora:
        seen["inbox"] = (await dora.task(task.id)).text
    for where, text in seen.items():
        assert "An anonymous caller" in text, (where, text)
        assert "An operator" not in text, (where, text)


async def test_an_unnamed_operator_is_named_so(office: Office) -> None:
    task = await office.agent.as_user("").send('{"approvers": ["*"]}')
    decided = await approvals(office, "approve", task.id)
    assert decided.code == 0, decided.err
    done = await office.agent.settled(task)
    assert "An operator approved" in str(done.history)
    (record,) = await office.agent.records(task)
    assert (record.who, record.channel) == ("An operator", "cli")
