"""What a receiver never took is shown to operators, and delivered again when they say so."""

import pytest
from temporalio.client import WorkflowExecutionStatus

from a2a_temporal._log import wire
from tests.conftest import NewCluster
from tests.support.calls import all_of
from tests.support.cluster import Cluster
from tests.support.command_line import ran
from tests.support.hook import Answer, Hook, hook
from tests.support.push import delete_config, inline, pushing, set_config
from tests.support.temporal_server import NAMESPACE
from tests.support.waiting import eventually

OPTIONS = pushing("--push-attempts=2")


async def cli(cluster: Cluster, *arguments: str) -> tuple[int, str]:
    """Run `a2a-temporal push` as an operator does."""
    env = {**cluster.env, "TEMPORAL_NAMESPACE": NAMESPACE}
    done = await ran(cluster.temporal.address, "push", *arguments, env=env)
    return done.code, done.out + done.err


async def status_of_child(cluster: Cluster, task_id: str) -> WorkflowExecutionStatus | None:
    return (await cluster.workflow(wire.push_workflow_id(task_id, 1)).describe()).status


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
async def test_given_up_receivers_are_listed_and_delivered_to_again(
    new_cluster: NewCluster, encrypted: bool
) -> None:
    options = pushing("--push-attempts=2", encrypted=encrypted)
    async with new_cluster(options=options) as cluster, hook(up=False) as receiver:
        running, ended = await all_of(
            cluster.caller.send_task(
                "ask it", configuration=inline(receiver.config(id="to-running"))
            ),
            cluster.caller.send_task("status 2", configuration=inline(receiver.config(id="one"))),
        )

        async def listed() -> str | None:
            _, output = await cli(cluster, "list", running["id"], ended["id"])
            return output if output.count("missed since") == 2 else None

        output = await eventually(listed, within=40, every=1)
        for task, status, config, missed in (
            (running, "running", "to-running", 3),
            (ended, "ended", "one", 5),
        ):
            line = next(line for line in output.splitlines() if task["id"] in line)
            assert f"{status}  config {config}  {missed} missed" in line
            assert "127.0.0.1 refused the connection" in line
        assert await status_of_child(cluster, ended["id"]) == WorkflowExecutionStatus.FAILED

        await receiver.up()
        code, output = await cli(cluster, "redeliver", running["id"], ended["id"])
        assert (code, output.count("delivered again")) == (0, 2)
        await receiver.told("COMPLETED")
        await receiver.told("INPUT_REQUIRED")
        assert len(receiver.taken) == 3 + 5
        await eventually(
            lambda: is_completed(cluster, ended["id"]), within=30, what="the child's end"
        )
        code, output = await cli(cluster, "list", running["id"], ended["id"])
        assert (code, output.strip()) == (0, "Nothing was given up.")
        code, output = await cli(cluster, "redeliver", ended["id"])
        assert (code, output.split("  ")[1].strip()) == (1, "nothing was given up")
        await cluster.caller.send_task("go on", task_id=running["id"])
        await eventually(lambda: receiver.states().count("COMPLETED") == 2, within=30)


async def is_completed(cluster: Cluster, task_id: str) -> bool:
    return await status_of_child(cluster, task_id) == WorkflowExecutionStatus.COMPLETED


async def test_visibility_finds_dead_letters_of_all_tasks(new_cluster: NewCluster) -> None:
    async with new_cluster(options=OPTIONS) as cluster, hook() as gone:
        gone.script = lambda _: Answer(status=410)
        task = await cluster.caller.send_task("ask it", configuration=inline(gone.config()))
        await set_config(cluster.caller, task["id"], gone.config(id="other"))

        async def listed() -> bool:
            _, output = await cli(cluster, "list")
            return f"{task['id']}  running" in output and "127.0.0.1 answered 410" in output

        await eventually(listed, within=20, every=1)
        assert len(gone.seen) == 1, "a receiver that is gone is not asked again"
        await revive_by_setting_again(cluster, task["id"], gone)


async def revive_by_setting_again(cluster: Cluster, task_id: str, receiver: Hook) -> None:
    """A client that sets its config anew gets what it missed, without an operator."""
    receiver.script = lambda _: Answer()
    await set_config(cluster.caller, task_id, {"url": f"{receiver.url}/new", "id": "other"})
    await cluster.caller.send_task("go on", task_id=task_id)
    await receiver.told("COMPLETED")
    assert {each.path for each in receiver.taken} == {"/hook/new"}


async def test_a_deleted_config_has_no_dead_letters(new_cluster: NewCluster) -> None:
    async with new_cluster(options=OPTIONS) as cluster, hook() as gone:
        gone.script = lambda _: Answer(status=410)
        task = await cluster.caller.send_task("echo x", configuration=inline(gone.config(id="a")))
        await set_config(cluster.caller, task["id"], gone.config(id="new"))
        await eventually(lambda: is_failed(cluster, task["id"]), within=30)
        assert "config a  4 missed" in (await cli(cluster, "list", task["id"]))[1]
        await delete_config(cluster.caller, task["id"], "a")
        assert (await cli(cluster, "list", task["id"]))[1].strip() == "Nothing was given up."
        code, output = await cli(cluster, "redeliver", task["id"])
        assert (code, output.split("  ")[1].strip()) == (1, "nothing was given up")


async def is_failed(cluster: Cluster, task_id: str) -> bool:
    child = wire.push_workflow_id(task_id, 1)
    return await cluster.workflow_status(child) == WorkflowExecutionStatus.FAILED


async def test_a_task_that_ended_before_any_worker_saw_it_is_told_when_asked(
    new_cluster: NewCluster,
) -> None:
    async with new_cluster(workers=0, options=OPTIONS) as cluster, hook() as receiver:
        task = await cluster.caller.start("echo x", configuration=inline(receiver.config(id="a")))
        await cluster.workflow(task["id"]).terminate()
        await set_config(cluster.caller, task["id"], receiver.config(id="late"))
        _, output = await cli(cluster, "list", task["id"])
        assert "ended  config a  2 missed" in output
        assert "late" not in output
        code, output = await cli(cluster, "redeliver", task["id"])
        assert (code, output.count("delivered again")) == (0, 1)
        await cluster.add_worker(*OPTIONS.worker)
        await receiver.told("FAILED")
        assert receiver.states() == ["SUBMITTED", "FAILED"]
        await eventually(lambda: is_completed(cluster, task["id"]), within=30)
        assert (await cli(cluster, "redeliver", task["id"]))[0] == 1
