"""``a2a-temporal approvals``: the terminal's door."""

import json
from pathlib import Path

from a2a_temporal.testing import running_agent, state_of
from tests.integration.approvals.asking_flows import TwoInARow
from tests.integration.inbox.conftest import Office
from tests.support.command_line import Ran, ran
from tests.support.waiting import eventually


async def command(office: Office, *arguments: str) -> Ran:
    """Run a command of the CLI against the office's Temporal."""
    return await ran(office.agent.temporal.service_client.config.target_host, *arguments)


async def approvals(office: Office, *arguments: str) -> Ran:
    return await command(office, "approvals", *arguments)


def as_ann(office: Office) -> list[str]:
    return ["--by", "ann", "--group", office.group]


async def test_from_the_list_to_an_approval_to_its_record(office: Office, tmp_path: Path) -> None:
    task = await office.ask(summary="Pay\x1b[31m 5\r\nto X?")

    async def is_listed() -> bool:
        listed = await approvals(office, "list", "--by", "x", "--group", office.group)
        assert "\x1b" not in listed.out
        return task.id in listed.out

    await eventually(is_listed, within=20, what="the task in the list")
    shown = await approvals(office, "show", task.id)
    assert "approval-1" in shown.out
    assert '"payee": "X"' in shown.out
    assert "\x1b" not in shown.out

    stranger = await approvals(office, "approve", task.id, "--by", "mallory")
    assert stranger.code == 1
    assert "may not decide" in stranger.err

    done = await approvals(
        office, "approve", task.id, "--by", "ann", "--group", office.group, "-m", "ok",
        "--details", '{"payee": "Y", "amount": 3, "note": ""}',
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.out.startswith("Approved: ")
    finished = await office.agent.settled(task)
    assert finished.artifacts[-1].parts[0].text == "paid 3 to Y"

    file = tmp_path / "records.jsonl"
    exported = await approvals(
        office, "export", "--query", f"WorkflowId = '{task.id}'", "-o", str(file)
    )
    assert exported.code == 0, exported.err
    (record,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert record["task"] == task.id
    assert (record["by"], record["verified"], record["door"]) == ("ann", False, "cli")
    assert record["changed_details"] is True
    assert len(record["details_sha256"]) == 64


async def test_rejecting_answering_and_what_is_refused(office: Office) -> None:
    task = await office.ask()
    question = await office.ask(choices=["a"])
    wrong = await approvals(office, "answer", task.id, "hello", "--by", "ann")
    assert (wrong.code, "approval-1" in wrong.err) == (1, True)
    rejected = await approvals(office, "reject", task.id, *as_ann(office), "-m", "no", "--json")
    assert json.loads(rejected.out)["record"]["decision"] == "reject"
    assert state_of(await office.agent.settled(task)) == "rejected"
    late = await approvals(office, "approve", task.id, *as_ann(office))
    assert (late.code, "has ended" in late.err) == (1, True)
    answered = await approvals(office, "answer", question.id, "a", "--by", office.name("carl"))
    assert answered.out.startswith("Answered")
    unknown = await approvals(office, "show", "no-such-task")
    assert (unknown.code, "there is no task" in unknown.err) == (1, True)


async def test_details_that_are_no_longer_what_was_seen_do_not_count(office: Office) -> None:
    task = await office.ask()
    refused = await approvals(office, "approve", task.id, *as_ann(office), "--seen", "0" * 64)
    assert (refused.code, "have changed" in refused.err) == (1, True)


async def test_without_a_worker_an_answer_is_stored_and_repeating_it_is_harmless(
    office: Office,
) -> None:
    task = await office.ask()
    await office.agent.stop_worker()
    again = ["approve", task.id, *as_ann(office), "--token", "once"]
    for _ in range(2):
        stored = await approvals(office, *again)
        assert (stored.code, "Stored" in stored.out) == (0, True)
    await office.agent.start_worker()
    await office.agent.until(task, "completed")
    assert len(await office.agent.records(task)) == 1


async def test_the_same_command_once_more_does_not_approve_what_was_asked_next(
    office: Office,
) -> None:
    async with running_agent(office.agent.temporal, TwoInARow) as agent:
        task = await agent.send("go")
        command_line = ["approve", task.id, "--by", "ann"]
        done = await approvals(office, *command_line)
        assert (done.code, "Approved: Do A?" in done.out) == (0, True)
        again = await approvals(office, *command_line)
        assert (again.code, "--request approval-2 (Do B?)" in again.err) == (1, True)
        assert len(await agent.records(task)) == 1
        shown = await approvals(office, "show", task.id)
        assert f"approvals approve {task.id} --request approval-2 --by NAME" in shown.out
        named = await approvals(office, *command_line, "--request", "approval-2")
        assert (named.code, "Approved: Do B?" in named.out) == (0, True)


async def test_an_inbox_that_would_be_open_to_everybody_does_not_start(office: Office) -> None:
    refused = await command(office, "inbox", "--port", "0")
    assert (refused.code, "--tokens" in refused.err) == (2, True)
    refused = await command(office, "inbox", "--port", "0", "--allow-anonymous", "--host", "::")
    assert (refused.code, "this machine only" in refused.err) == (2, True)
