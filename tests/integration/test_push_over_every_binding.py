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
    REDACTED,
    Calls,
    delete_config,
    get_config,
    list_configs,
    pushing,
    redacted,
    set_config,
)
from tests.support.push_callers import Door, new_door, over_all
from tests.support.results import Json
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
            assert await get_config(caller, task_id, "mine") == redacted(made)
            other = await set_config(caller, task_id, {"url": f"{receiver.url}/other"})
            listed = await list_configs(caller, task_id)
            assert sorted(each["id"] for each in listed["configs"]) == sorted(["mine", other["id"]])
            assert redacted(made) in listed["configs"]
            # As it was read, with another path.
            again = {**redacted(config), "url": f"{receiver.url}/again"}
            assert (await set_config(caller, task_id, again))["token"] == REDACTED
            for _ in range(2):
                await delete_config(caller, task_id, other["id"])
            await refused(get_config(caller, task_id, other["id"]), code=-32001)

            await door.caller.send_task("answer", task_id=task_id)
            told = await receiver.told("COMPLETED")
            assert told.headers["x-a2a-notification-token"] == "a-token"
            assert {each.path for each in receiver.taken} == {"/hook/again"}

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
            assert listed == redacted({**config, "taskId": task["id"]})

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


async def test_a_page_token_of_another_list_is_refused(door: Door) -> None:
    async def scenario(caller: Calls) -> None:
        one, other = [(await door.caller.send_task("ask it"))["id"] for _ in range(2)]
        for task_id in (one, other):
            for number in range(2):
                config = {"id": f"c{number}", "url": f"http://127.0.0.1:9/{number}"}
                await set_config(caller, task_id, config)
        token = (await list_configs(caller, other, pageSize=1))["nextPageToken"]
        tasks = await door.caller.call("ListTasks", {"pageSize": 1})
        for bad in ("garbage", "c0", token, token[:-1], f"{token}=", tasks["nextPageToken"], "é"):
            await refused(list_configs(caller, one, pageToken=bad), code=-32602)
        for size in (-1, 101, 2**31 - 1):
            await refused(list_configs(caller, one, pageSize=size), code=-32602)
        token = (await list_configs(caller, one, pageSize=1))["nextPageToken"]
        await delete_config(caller, one, "c0")
        (left,) = (await list_configs(caller, one, pageSize=1, pageToken=token))["configs"]
        assert left["id"] == "c1"

    await over_all(door.callers(), scenario)


async def test_a_new_config_of_0_3_over_rest_has_the_form_of_its_text_or_of_its_protobuf(
    door: Door,
) -> None:
    task_id = (await door.caller.send_task("ask it"))["id"]
    path = f"{door.caller.url}/v1/tasks/{task_id}/pushNotificationConfigs"
    authentication = {"schemes": ["Bearer"], "credentials": "a-credential"}
    async with hook() as receiver:

        def config(config_id: str) -> Json:
            return {"id": config_id, "url": receiver.url, "authentication": authentication}

        def name(config_id: str) -> str:
            return f"tasks/{task_id}/pushNotificationConfigs/{config_id}"

        forms: dict[str, tuple[str, Json]] = {
            # As clients in JavaScript send it: the protobuf binds its field `config` to the body.
            "js": ("", {"name": name("js"), "pushNotificationConfig": config("js")}),
            "beside": ("?configId=beside", {"pushNotificationConfig": config("")}),
            # As the text of the specification (section 7.5) has it.
            "text": ("", {"config": {"taskId": task_id, "pushNotificationConfig": config("text")}}),
            # As clients in Python send it: the whole request.
            "python": (
                "",
                {
                    "parent": f"tasks/{task_id}",
                    "config_id": "python",
                    "config": {"name": name("python"), "push_notification_config": config("")},
                },
            ),
        }
        for config_id, (query, body) in forms.items():
            response = await door.caller.http.post(path + query, json=body)
            assert response.status_code == 200, (config_id, response.text)
            made = response.json()
            assert made["name"] == name(config_id)
            assert made["pushNotificationConfig"] == config(config_id)
            read = (await door.caller.http.get(f"{path}/{config_id}")).json()
            assert read["pushNotificationConfig"]["authentication"]["credentials"] == REDACTED
        listed = (await door.caller.http.get(path)).json()["configs"]
        assert {each["name"] for each in listed} == {name(config_id) for config_id in forms}
        for text in (
            "{}",
            "[]",
            '{"config": 1}',
            '{"config": {}}',
            '{"url": "https://example.com"}',
        ):
            response = await door.caller.http.post(path, content=text)
            assert response.status_code == 400, (text, response.text)
        garbage = await door.caller.http.get(f"{path}?pageToken=garbage")
        assert garbage.status_code == 400
