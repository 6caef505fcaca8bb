"""A task that says of its requests what nobody can read hides no other, and is named."""

import json
from typing import Any

import pytest
from temporalio.client import Client

from a2a_temporal.testing import running_agent, state_of
from tests.integration.inbox.conftest import Office
from tests.integration.inbox.foreign_flow import Foreign
from tests.integration.inbox.test_approvals_command import approvals
from tests.support.waiting import eventually


@pytest.mark.parametrize(
    "about",
    [
        {"requests": None},
        {"requests": [{"id": "a-1", "kind": "approval", "approvers": [["x"]]}], "record": 7},
    ],
)
async def test_inbox_list_and_export_show_the_others_and_name_it(
    office: Office, inbox_temporal: Client, about: dict[str, Any]
) -> None:
    async with running_agent(inbox_temporal, Foreign) as foreign:
        wish = json.dumps({"about": about, "approvers": [office.group]})
        user = foreign.as_user(office.name("ann"))
        bad = await user.send(wish)
        good = await office.ask()
        await office.agent.approve(good, by=office.name("bob"), groups=[office.group])
        shown = await office.ask()

        async with office.visit("ann") as ann:

            async def both_are_listed() -> bool:
                links = (await ann.get("/")).links
                return all(f"/tasks/{each.id}" in links for each in (bad, shown))

            await eventually(both_are_listed, within=30, what="both tasks in the inbox")
            page = await ann.task(bad.id)
            assert (page.status, "cannot be shown" in page.text) == (200, True)
        ids = f"WorkflowId IN ('{good.id}', '{bad.id}')"

        async def both_are_known() -> bool:
            return (await inbox_temporal.count_workflows(ids)).count == 2

        await eventually(both_are_known, within=30)
        listed = await approvals(office, "list", "--by", "x", "--group", office.group, "--json")
        assert shown.id in {each["task"] for each in json.loads(listed.out)}
        assert (listed.code, bad.id in listed.err) == (1, True)
        exported = await approvals(office, "export", "--query", ids)
        assert [json.loads(line)["task"] for line in exported.out.splitlines()] == [good.id]
        assert (exported.code, f"{bad.id}: " in exported.err) == (1, True)
        assert "Traceback" not in exported.err + listed.err
        assert state_of(await user.get(bad)) == "input-required"
