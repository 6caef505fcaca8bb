"""Push configs of a task that has ended are kept like any other, and told nothing."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

import pytest
import pytest_asyncio
from temporalio.client import WorkflowExecutionStatus

from a2a_temporal._log import wire
from tests.conftest import NewCluster
from tests.support.calls import all_of, refused
from tests.support.cluster import Cluster, running_cluster
from tests.support.hook import hook
from tests.support.push import (
    LOCAL_HOOKS,
    Calls,
    delete_config,
    get_config,
    list_configs,
    pushing,
    redacted,
    set_config,
)
from tests.support.push_callers import Door, new_door, over_all
from tests.support.results import state
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

NOT_FOUND: Final = -32001
INVALID_PARAMS: Final = -32602
COMMANDS: Final = {
    "COMPLETED": "echo done",
    "FAILED": "fail-public out of stock",
    "REJECTED": "reject",
    "CANCELED": "ask it",
}
RECEIVER: Final = "http://127.0.0.1:9/hook"


@dataclass(frozen=True, kw_only=True)
class Served:
    """Two servers of one agent, over every binding."""

    cluster: Cluster
    one: Door
    other: Door


@pytest_asyncio.fixture(scope="module")
async def served(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    folder = tmp_path_factory.mktemp("finished")
    starting = running_cluster(temporal, folder, apis=0, workers=1, options=pushing())
    async with (
        starting as cluster,
        new_door(cluster, "--push", LOCAL_HOOKS) as one,
        new_door(cluster, "--push", LOCAL_HOOKS) as other,
    ):
        yield Served(cluster=cluster, one=one, other=other)


async def ended(door: Door, name: str = "COMPLETED") -> str:
    """Make a task that ends in a state; its id."""
    caller = door.caller
    task = await caller.send_task(COMMANDS[name])
    if name == "CANCELED":
        task = await caller.cancel(task["id"])
    assert state(task) == name
    return str(task["id"])


def ids(listed: dict[str, Any]) -> list[str]:
    return [each["id"] for each in listed.get("configs", [])]


@pytest.mark.parametrize("name", list(COMMANDS))
async def test_all_operations_work_over_every_binding(served: Served, name: str) -> None:
    async with hook() as receiver:
        others = served.other.callers()

        async def scenario(binding: str) -> None:
            here, there = served.one.callers()[binding], others[binding]
            task_id = await ended(served.one, name)
            before = await served.one.caller.get(task_id)
            assert not ids(await list_configs(here, task_id))
            await refused(get_config(here, task_id, "mine"), code=NOT_FOUND)
            await delete_config(here, task_id, "mine")

            made = await set_config(here, task_id, receiver.config())
            assert (made["taskId"], made["url"]) == (task_id, receiver.url)
            assert await get_config(there, task_id, made["id"]) == made
            again = await set_config(there, task_id, receiver.config())
            assert again["id"] == made["id"]
            await set_config(there, task_id, receiver.config(id="mine"))
            new = await set_config(here, task_id, {"url": f"{receiver.url}/2", "id": "mine"})
            assert await get_config(there, task_id, "mine") == new
            listed = await list_configs(there, task_id)
            assert sorted(ids(listed)) == sorted([made["id"], "mine"])
            page = await list_configs(here, task_id, pageSize=1)
            rest = await list_configs(here, task_id, pageSize=1, pageToken=page["nextPageToken"])
            assert [*page["configs"], *rest["configs"]] == listed["configs"]

            for caller in (here, there):
                await delete_config(caller, task_id, made["id"])
                await refused(get_config(caller, task_id, made["id"]), code=NOT_FOUND)
            assert ids(await list_configs(there, task_id)) == ["mine"]
            assert await served.other.caller.get(task_id) == before

        await all_of(*(scenario(binding) for binding in others))
        assert not receiver.seen


async def test_nobody_else_sees_or_changes_them(served: Served) -> None:
    alice = served.one.caller.as_user("alice", tenant="t1")
    task_id = (await alice.send_task("echo x"))["id"]
    await set_config(alice, task_id, {"url": RECEIVER, "id": "mine"})
    nobody = "00000000-0000-4000-8000-000000000000"

    async def scenario(stranger: Calls) -> None:
        assert await answers(stranger, task_id) == await answers(stranger, nobody)

    for token, tenant in (("bob", "t1"), ("alice", "t2"), (None, "t1")):
        await over_all(served.other.callers(token, tenant=tenant), scenario)
    assert (await get_config(alice, task_id, "mine"))["url"] == RECEIVER
    assert ids(await list_configs(alice, task_id)) == ["mine"]


async def answers(caller: Calls, task_id: str) -> list[str]:
    """What the operations answer about a task, with its id blotted out."""
    calls = (
        set_config(caller, task_id, {"url": RECEIVER}),
        get_config(caller, task_id, "mine"),
        list_configs(caller, task_id),
        delete_config(caller, task_id, "mine"),
    )
    return [(await refused(call, code=NOT_FOUND)).body.replace(task_id, "TASK") for call in calls]


async def test_they_are_checked_like_any_other(served: Served) -> None:
    task_id = await ended(served.one)

    async def scenario(caller: Calls) -> None:
        for config in (
            {"url": "http://10.0.0.1/internal"},
            {"url": ""},
            {"url": RECEIVER, "id": "x" * 129},
            {"url": RECEIVER, "token": "a-secret"},
        ):
            error = await refused(set_config(caller, task_id, config), code=INVALID_PARAMS)
            assert "a-secret" not in error.body

    await over_all(served.one.callers(), scenario)
    caller = served.one.caller
    for number in range(10):
        await set_config(caller, task_id, {"url": RECEIVER, "id": f"c{number}"})
    full = set_config(caller, task_id, {"url": RECEIVER, "id": "c10"})
    assert "Delete one" in (await refused(full, code=INVALID_PARAMS)).message


async def test_concurrent_changes_all_count_across_workflows(served: Served) -> None:
    task_id = await ended(served.one)
    doors = (served.one, served.other)

    async def wave(numbers: range) -> None:
        await all_of(
            *(
                set_config(caller, task_id, {"url": RECEIVER, "id": f"c{number}"})
                for number in numbers
                for caller in (doors[number % 2].callers()["GRPC"],)
            )
        )

    await wave(range(5))
    await closed(served.cluster, wire.late_configs_id(task_id, 1))
    await wave(range(5, 10))
    for door in doors:
        listed = ids(await list_configs(door.caller, task_id))
        assert listed == [f"c{number}" for number in range(10)]
    await closed(served.cluster, wire.late_configs_id(task_id, 2))
    assert not await served.cluster.known_to_temporal(wire.late_configs_id(task_id, 3))


async def closed(cluster: Cluster, workflow_id: str) -> None:
    """Wait until a workflow has completed."""

    async def look() -> bool:
        return await cluster.workflow_status(workflow_id) == WorkflowExecutionStatus.COMPLETED

    await eventually(look, within=20, what=f"the end of {workflow_id}")


async def test_a_config_set_while_the_task_ends_is_kept(served: Served) -> None:
    async def scenario(task_id: str) -> None:
        for number in range(10):
            config = {"url": RECEIVER, "id": f"c{number}"}
            await set_config(served.other.caller, task_id, config)
            assert (await get_config(served.one.caller, task_id, config["id"]))["url"] == RECEIVER

        async def completed() -> bool:
            return state(await served.one.caller.get(task_id)) == "COMPLETED"

        await eventually(completed, within=20)
        assert len(ids(await list_configs(served.one.caller, task_id))) == 10

    starts = [served.one.caller.start(f"sleep 0.{number}") for number in range(8)]
    tasks = await all_of(*starts)
    await all_of(*(scenario(task["id"]) for task in tasks))


async def test_they_are_no_tasks(served: Served) -> None:
    caller = served.one.caller.as_user("carol")
    task = await caller.send_task("echo x")
    await set_config(caller, task["id"], {"url": RECEIVER, "id": "mine"})
    beside = wire.late_configs_id(task["id"], 1)
    assert await served.cluster.known_to_temporal(beside)
    await closed(served.cluster, beside)
    listed = await caller.list()
    assert [each["id"] for each in listed["tasks"]] == [task["id"]]
    assert listed["totalSize"] == 1
    for call in (caller.get(beside), caller.cancel(beside), caller.send("x", task_id=beside)):
        await refused(call, code=NOT_FOUND)


async def test_no_worker_is_needed_and_servers_may_come_and_go(new_cluster: NewCluster) -> None:
    options = pushing(encrypted=True)
    async with new_cluster(apis=0, options=options) as cluster, AsyncExitStack() as doors:

        async def door() -> Door:
            return await doors.enter_async_context(new_door(cluster, *options.api))

        first = await door()
        task_id = await ended(first)
        cluster.workers[0].kill()
        await cluster.workers[0].exited(within=10)
        secret = {"url": RECEIVER, "token": "a-secret"}
        await set_config(first.caller, task_id, {**secret, "id": "a"})
        await set_config(first.caller, task_id, {"url": RECEIVER, "id": "b"})
        await delete_config(first.caller, task_id, "b")
        cluster.apis[0].process.kill()

        second = await door()

        async def reads_as_before(caller: Calls) -> None:
            read = await get_config(caller, task_id, "a")
            assert read == redacted({**secret, "id": "a", "taskId": task_id})
            assert ids(await list_configs(caller, task_id)) == ["a"]

        await over_all(second.callers(), reads_as_before)
        await cluster.add_worker(*options.worker)
        await closed(cluster, wire.late_configs_id(task_id, 1))
        await over_all(second.callers(), reads_as_before)
        await set_config(second.caller, task_id, {"url": RECEIVER, "id": "c"})
        assert ids(await list_configs(second.caller, task_id)) == ["a", "c"]
        await closed(cluster, wire.late_configs_id(task_id, 2))
