"""A task whose key is not here is left out, and hides no other."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

import pytest_asyncio
from a2a.types import Task
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import DataConverter

from a2a_temporal import EncryptionCodec
from a2a_temporal.testing import running_agent
from tests.integration.inbox.conftest import Office
from tests.integration.inbox.office_flow import Office as OfficeWorkflow
from tests.integration.inbox.test_approvals_command import approvals
from tests.integration.inbox.test_listing import tasks_listed
from tests.support.inbox import Visitor
from tests.support.waiting import eventually


class OutOfReach(EncryptionCodec):
    """Encrypts; can be made to fail as a codec does whose key server is down."""

    fails = False

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if self.fails:
            raise ConnectionError("the key server does not answer")
        return await super().decode(payloads)


@dataclass
class _Safe:
    codec: OutOfReach
    client: Client
    hidden: Task


@pytest_asyncio.fixture
async def safe(office: Office) -> AsyncIterator[_Safe]:
    """A task that waits for the group of the office, encrypted with a key the office lacks."""
    codec = OutOfReach({"of-the-safe": b"k" * 32})
    client = Client(
        office.agent.temporal.service_client,
        namespace=office.agent.temporal.namespace,
        data_converter=replace(DataConverter.default, payload_codec=codec),
    )
    async with running_agent(client, OfficeWorkflow, max_cached_workflows=0) as agent:
        carl = agent.as_user(office.name("carl"))
        hidden = await carl.send(json.dumps({"approvers": [office.group]}))
        yield _Safe(codec, client, hidden)


async def test_the_list_shows_the_others_and_says_that_one_is_left_out(
    office: Office, safe: _Safe
) -> None:
    shown = await office.ask()
    async with office.visit("ann") as ann:

        async def both_are_known() -> bool:
            page = await ann.get("/")
            assert page.status == 200, page.text
            return "1 task is left out" in page.text and f"/tasks/{shown.id}" in page.links

        await eventually(both_are_known, within=30)
        assert await tasks_listed(ann) == [shown.id]


async def test_its_own_page_says_what_is_missing_and_keeps_what_was_typed(
    office: Office, safe: _Safe
) -> None:
    async with office.visit("ann") as ann:
        page = await ann.task(safe.hidden.id)
        assert page.status == 500
        assert "lacks the key" in page.text
        assert "data-retry" not in page.html
        form = (await ann.get("/")).forms[0]
        form.action = f"/tasks/{safe.hidden.id}"
        page = await ann.send(form, do="approve", request="approval-1", comment="my words")
        assert page.status == 500
        assert "lacks the key" in page.text
        assert "my words" in page.html


async def test_a_key_server_that_is_down_is_a_failure_that_passes(
    office: Office, safe: _Safe
) -> None:
    async with office.visit("ann", office.new_inbox(safe.client)) as ann:
        await eventually(lambda: _lists(ann, safe.hidden.id), within=30)
    safe.codec.fails = True
    async with office.visit("ann", office.new_inbox(safe.client)) as ann:  # it has read nothing yet
        page = await ann.get("/")
        assert page.status == 503
        assert "data-retry" in page.html
        assert (await ann.task(safe.hidden.id)).status == 503
        safe.codec.fails = False
        assert await tasks_listed(ann) == [safe.hidden.id]


async def test_the_export_has_the_records_of_the_others_and_says_so(
    office: Office, safe: _Safe
) -> None:
    shown = await office.ask()
    await office.agent.approve(shown, by=office.name("ann"), groups=[office.group])
    ids = f"WorkflowId IN ('{shown.id}', '{safe.hidden.id}')"

    async def both_are_known() -> bool:
        return (await safe.client.count_workflows(ids)).count == 2

    await eventually(both_are_known, within=30)
    exported = await approvals(office, "export", "--query", ids)
    (record,) = [json.loads(line) for line in exported.out.splitlines()]
    assert record["task"] == shown.id
    assert exported.code == 1
    assert "Without those of 1" in exported.err
    assert "'of-the-safe'" in exported.err or "no key is set" in exported.err

    listed = await approvals(office, "list", "--by", "x", "--group", office.group)
    assert listed.code == 0
    assert f"Task {safe.hidden.id} is left out" in listed.err
    alone = await approvals(office, "show", safe.hidden.id)
    assert (alone.code, "cannot be read here" in alone.err) == (1, True)
    assert "Traceback" not in alone.err


async def _lists(visitor: Visitor, task_id: str) -> bool:
    return await tasks_listed(visitor) == [task_id]
