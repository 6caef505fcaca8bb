"""Push configs over every binding of both versions: a notification really arrives."""

import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.calls import refused
from tests.support.cluster import running_cluster
from tests.support.hook import hook
from tests.support.push import (
    LOCAL_HOOKS,
    Calls,
    delete_config,
    get_config,
    list_configs,
    pushing,
    set_config,
)
from tests.support.push_callers import Door, new_door, over_all
from tests.support.temporal_server import TemporalServer


@pytest_asyncio.fixture(scope="module")
async def door(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Door]:
    """A server with a gRPC port, and a worker."""
    folder = tmp_path_factory.mktemp("bindings")
    options = pushing(encrypted=True)
    async with (
        running_cluster(temporal, folder, apis=0, workers=1, options=options) as cluster,
        new_door(cluster, "--push", LOCAL_HOOKS) as door,
    ):
        yield door


async def test_a_config_is_set_read_listed_told_and_deleted(door: Door) -> None:
    async def scenario(caller: Calls) -> None:
        async with hook() as receiver:
            task_id = (await door.caller.send_task("ask it"))["id"]
            config = receiver.config(id="mine", token="a-token")
            made = await set_config(caller, task_id, config)
            assert made == {**config, "taskId": task_id}
            assert await get_config(caller, task_id, "mine") == made
            other = await set_config(caller, task_id, {"url": f"{receiver.url}/other"})
            listed = await list_configs(caller, task_id)
            assert sorted(each["id"] for each in listed["configs"]) == sorted(["mine", other["id"]])
            for _ in range(2):
                await delete_config(caller, task_id, other["id"])
            await refused(get_config(caller, task_id, other["id"]), code=-32001)

            await door.caller.send_task("answer", task_id=task_id)
            told = await receiver.told("COMPLETED")
            assert told.headers["x-a2a-notification-token"] == "a-token"
            assert {each.path for each in receiver.taken} == {"/hook"}

    await over_all({**door.callers(), **door.old_callers()}, scenario)


async def test_a_config_comes_with_the_first_message(door: Door) -> None:
    async def scenario(caller: Calls) -> None:
        async with hook() as receiver:
            message = {
                "messageId": str(uuid.uuid4()),
                "role": "ROLE_USER",
                "parts": [{"text": "echo hello"}],
            }
            config = receiver.config(id="mine", token="a-token")
            configuration = {"taskPushNotificationConfig": config}
            params = {"message": message, "configuration": configuration}
            task = (await caller.call("SendMessage", params))["task"]
            await receiver.told("COMPLETED")
            assert receiver.states() == ["SUBMITTED", "WORKING", "COMPLETED"]
            assert {each.headers["x-a2a-notification-token"] for each in receiver.taken} == {
                "a-token"
            }
            (listed,) = (await list_configs(caller, task["id"]))["configs"]
            assert listed == {**config, "taskId": task["id"]}

    await over_all({**door.callers(), **door.old_callers()}, scenario)


async def test_a_finished_task_takes_configs_of_either_version(door: Door) -> None:
    async def scenario(caller: Calls) -> None:
        async with hook() as receiver:
            task_id = (await door.caller.send_task("echo x"))["id"]
            made = await set_config(caller, task_id, receiver.config())
            assert await get_config(caller, task_id, made["id"]) == made
            assert (await list_configs(caller, task_id))["configs"] == [made]
            await delete_config(caller, task_id, made["id"])
            assert not (await list_configs(caller, task_id)).get("configs")
            assert not receiver.seen

    await over_all({**door.callers(), **door.old_callers()}, scenario)
