"""The operations on push notification configs: sections 3.1.7 to 3.1.10, and the inline config."""

import asyncio
import uuid
from typing import Any, Final

import httpx
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    ListTaskPushNotificationConfigsRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    TaskPushNotificationConfig,
)
from temporalio.client import WorkflowExecutionStatus

from a2a_temporal import PushOptions
from a2a_temporal._log import wire
from tests.support.calls import Caller, over_every_binding, refused
from tests.support.cluster import Cluster
from tests.support.hook import hook
from tests.support.push import (
    delete_config,
    get_config,
    inline,
    list_configs,
    set_config,
)
from tests.support.results import CallError, Json
from tests.support.sdk import collected
from tests.support.waiting import eventually

NOT_FOUND: Final = -32001
NOT_SUPPORTED: Final = -32003
UNSUPPORTED: Final = -32004
INVALID_PARAMS: Final = -32602
CHILD_EVENT: Final = "START_CHILD_WORKFLOW_EXECUTION_INITIATED"


@pytest.fixture
def cluster(pusher: Cluster) -> Cluster:
    return pusher


async def refused_once(cluster: Cluster, task_id: str) -> None:
    """Wait until the receiver of a task could not be connected to."""
    worker = cluster.workers[0]
    await worker.logged(f"of task {task_id}, attempt 1: ", within=30)
    (line, *_) = [each for each in worker.output().splitlines() if f"of task {task_id}" in each]
    assert "refused the connection" in line, line


async def test_set_get_list_and_delete(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        async with hook() as receiver:
            task_id = (await caller.send_task("ask it"))["id"]
            made = await set_config(caller, task_id, receiver.config())
            assert made["id"]
            assert made["id"] != task_id
            assert (made["taskId"], made["url"]) == (task_id, receiver.url)
            again = await set_config(caller, task_id, receiver.config())
            assert again["id"] == made["id"]
            other = await set_config(caller, task_id, {"url": f"{receiver.url}/2"})
            assert other["id"] != made["id"]
            assert await get_config(caller, task_id, made["id"]) == made

            listed = await list_configs(caller, task_id)
            assert sorted(each["id"] for each in listed["configs"]) == sorted(
                [made["id"], other["id"]]
            )
            first = await list_configs(caller, task_id, pageSize=1)
            second = await list_configs(
                caller, task_id, pageSize=1, pageToken=first["nextPageToken"]
            )
            assert [*first["configs"], *second["configs"]] == listed["configs"]
            assert not second.get("nextPageToken")

            for _ in range(2):
                await delete_config(caller, task_id, made["id"])
            await refused(get_config(caller, task_id, made["id"]), code=NOT_FOUND, status=404)
            await caller.send("answer", task_id=task_id)
            await eventually(
                lambda: any(each.path == "/hook/2" for each in receiver.taken), within=10
            )
            assert "COMPLETED" not in [
                each.state for each in receiver.taken if each.path == "/hook"
            ]

    await over_every_binding(cluster.caller, scenario)


async def test_configs_set_at_the_same_time_share_one_limit(cluster: Cluster) -> None:
    most = PushOptions().maximum_configs
    for text in ("ask it", "answer"):
        task_id = (await cluster.caller.send_task(text))["id"]
        async with hook() as receiver:
            results = await asyncio.gather(
                *(
                    set_config(cluster.caller, task_id, {"url": f"{receiver.url}/{number}"})
                    for number in range(most + 4)
                ),
                return_exceptions=True,
            )
            accepted = {each["id"] for each in results if not isinstance(each, BaseException)}
            errors = [each for each in results if isinstance(each, CallError)]
            assert [error.code for error in errors] == [INVALID_PARAMS] * 4
            listed = (await list_configs(cluster.caller, task_id))["configs"]
            assert {each["id"] for each in listed} == accepted
            assert len(listed) == most


async def test_a_client_that_repeats_its_config_with_each_message_sets_it_once(
    cluster: Cluster,
) -> None:
    async with hook() as receiver:
        options = {"configuration": inline(receiver.config())}
        task = await cluster.caller.send_task("ask2", message_id="once", **options)
        await cluster.caller.send_task("ask2", message_id="once", **options)
        await cluster.caller.send_task("one", task_id=task["id"], **options)
        assert len((await list_configs(cluster.caller, task["id"]))["configs"]) == 1
        await cluster.caller.send_task("two", task_id=task["id"], **options)
        await receiver.told("COMPLETED")
        assert receiver.states().count("COMPLETED") == 1


async def test_a_new_url_gets_what_the_old_one_never_took(cluster: Cluster) -> None:
    async with hook(up=False) as wrong, hook() as right:
        config = inline(wrong.config(id="mine"))
        task = await cluster.caller.send_task("ask it", configuration=config)
        await refused_once(cluster, task["id"])
        await set_config(cluster.caller, task["id"], right.config(id="mine"))
        await right.told("INPUT_REQUIRED")
        assert right.states() == ["SUBMITTED", "WORKING", "INPUT_REQUIRED"]


async def test_a_refused_message_stores_no_config(cluster: Cluster) -> None:
    async with hook() as receiver:
        options = {"configuration": inline(receiver.config())}
        ended = await cluster.caller.send_task("echo x")
        await refused(cluster.caller.send("more", task_id=ended["id"], **options), code=UNSUPPORTED)
        parked = await cluster.caller.send_task("ask it")
        await refused(
            cluster.caller.send("x", task_id=parked["id"], context_id="another", **options),
            code=INVALID_PARAMS,
        )
        for task in (ended, parked):
            assert not (await list_configs(cluster.caller, task["id"])).get("configs")
        assert not receiver.seen


async def test_only_the_owner_sees_and_changes_configs(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        alice = caller.as_user("alice", tenant="t1")
        async with hook() as receiver, hook() as other:
            config = inline(receiver.config(id="mine"))
            task_id = (await alice.send_task("ask it", configuration=config))["id"]
            before = await cluster.requests(task_id)
            strangers = (
                caller.as_user("bob", tenant="t1"),
                caller.as_user("alice", tenant="t2"),
                caller.as_user(None, tenant="t1"),
            )
            for stranger in strangers:
                assert await answers(stranger, task_id, other.url) == await answers(
                    stranger, "00000000-0000-4000-8000-000000000000", other.url
                )
            assert await cluster.requests(task_id) == before
            assert len((await list_configs(alice, task_id))["configs"]) == 1
            await alice.send("answer", task_id=task_id)
            await receiver.told("COMPLETED")
            assert not other.seen

    await over_every_binding(cluster.caller, scenario)


async def test_an_approver_sees_the_task_but_not_its_configs(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        alice, carol = caller.as_user("alice"), caller.as_user("carol")
        async with hook() as receiver, hook() as other:
            config = inline(receiver.config(id="mine"))
            task_id = (await alice.send_task("approve x", configuration=config))["id"]
            assert (await carol.get(task_id))["id"] == task_id
            for call in (
                set_config(carol, task_id, {"url": other.url}),
                get_config(carol, task_id, "mine"),
                list_configs(carol, task_id),
                delete_config(carol, task_id, "mine"),
            ):
                await refused(call, code=NOT_FOUND, status=404)
            theirs = inline(other.config(id="mine"))
            refusal = await refused(
                carol.send("approve", task_id=task_id, configuration=theirs), code=INVALID_PARAMS
            )
            assert "owner" in refusal.message
            await carol.send("approve", task_id=task_id)
            await receiver.told("COMPLETED")
            assert not other.seen
            await refused(list_configs(carol, task_id), code=NOT_FOUND)

    await over_every_binding(cluster.caller, scenario)


async def answers(caller: Caller, task_id: str, url: str) -> list[str]:
    """What the operations answer about a task, with its id blotted out."""
    bodies: list[str] = []
    for call in (
        set_config(caller, task_id, {"url": url}),
        get_config(caller, task_id, "mine"),
        list_configs(caller, task_id),
        delete_config(caller, task_id, "mine"),
        caller.send("x", task_id=task_id, configuration=inline({"url": url})),
    ):
        error: CallError = await refused(call, code=NOT_FOUND, status=404)
        bodies.append(error.body.replace(task_id, "TASK"))
    return bodies


async def test_without_the_capability_every_operation_is_refused(cluster: Cluster) -> None:
    api = await cluster.add_api()
    without = Caller(http=cluster.http, url=api.url)
    async with hook() as receiver:

        async def scenario(caller: Caller) -> None:
            task_id = (await caller.send_task("ask it"))["id"]
            for call in (
                set_config(caller, task_id, receiver.config()),
                get_config(caller, task_id, "x"),
                list_configs(caller, task_id),
                delete_config(caller, task_id, "x"),
                caller.send("echo", configuration=inline(receiver.config())),
            ):
                await refused(call, code=NOT_SUPPORTED, status=400)

        await over_every_binding(without, scenario)
        assert not receiver.seen


async def test_a_task_without_configs_pays_nothing(cluster: Cluster) -> None:
    task = await cluster.caller.send_task("echo x")
    assert CHILD_EVENT not in await cluster.history(task["id"])


async def test_malformed_configs_are_refused(cluster: Cluster) -> None:
    async with hook() as receiver:
        task_id = (await cluster.caller.send_task("ask it"))["id"]
        for config in (
            {},
            {"url": ""},
            receiver.config(id="x" * 129),
            receiver.config(id="new\nline"),
            receiver.config(authentication={"scheme": "Two words"}),
            {"url": f"{receiver.url}?{'x' * 3000}"},
        ):
            await refused(set_config(cluster.caller, task_id, config), code=INVALID_PARAMS)
        for number in range(10):
            await set_config(cluster.caller, task_id, receiver.config(id=f"c{number}"))
        refusal = await refused(
            set_config(cluster.caller, task_id, receiver.config(id="c10")), code=INVALID_PARAMS
        )
        assert "Delete one" in refusal.message


async def test_a_config_deleted_after_the_end_is_delivered_to_no_more(cluster: Cluster) -> None:
    async with hook(up=False) as dead:
        config = inline(dead.config(id="mine"))
        task = await cluster.caller.send_task("echo x", configuration=config)
        await refused_once(cluster, task["id"])
        await delete_config(cluster.caller, task["id"], "mine")
        child = wire.push_workflow_id(task["id"], 1)

        async def is_over() -> bool:
            return await cluster.workflow_status(child) == WorkflowExecutionStatus.COMPLETED

        await eventually(is_over, within=30, what="the end of the deliveries")
        assert not dead.seen


async def test_a_new_url_after_the_end_gets_what_the_old_one_never_took(cluster: Cluster) -> None:
    async with hook(up=False) as wrong, hook() as right:
        config = inline(wrong.config(id="mine"))
        task = await cluster.caller.send_task("echo x", configuration=config)
        await refused_once(cluster, task["id"])
        await set_config(cluster.caller, task["id"], right.config(id="mine"))
        await right.told("COMPLETED")
        assert right.states() == ["SUBMITTED", "WORKING", "COMPLETED"]


async def test_the_official_client_attaches_its_config_to_every_message(cluster: Cluster) -> None:
    async with (
        hook() as receiver,
        httpx.AsyncClient(timeout=30, trust_env=False) as http,
    ):
        card = await A2ACardResolver(http, cluster.apis[0].url).get_agent_card()
        config = ClientConfig(
            httpx_client=http,
            streaming=False,
            push_notification_config=TaskPushNotificationConfig(url=receiver.url),
        )
        client = ClientFactory(config).create(card)
        (first,) = await collected(client.send_message(user_says("ask it")))
        answer = user_says("answer", first.task.id)
        await collected(client.send_message(answer))
        request = ListTaskPushNotificationConfigsRequest(task_id=first.task.id)
        listed = await client.list_task_push_notification_configs(request)
        assert [each.url for each in listed.configs] == [receiver.url]
        await receiver.told("COMPLETED")
        assert receiver.states().count("COMPLETED") == 1


async def test_clients_of_version_0_3_configure_receivers_too(cluster: Cluster) -> None:
    async with hook() as receiver:
        task_id = (await cluster.caller.send_task("ask it"))["id"]
        config = {"id": "mine", "url": receiver.url}
        params = {"taskId": task_id, "pushNotificationConfig": config}
        made = await old_call(cluster, "tasks/pushNotificationConfig/set", params)
        assert made["pushNotificationConfig"] == config
        listed = await old_call(cluster, "tasks/pushNotificationConfig/list", {"id": task_id})
        assert [each["pushNotificationConfig"]["id"] for each in listed] == ["mine"]
        await cluster.caller.send_task("answer", task_id=task_id)
        await receiver.told("COMPLETED")


async def old_call(cluster: Cluster, method: str, params: Json) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    response = await cluster.http.post(cluster.apis[0].url, json=body)
    answer: Json = response.json()
    assert "result" in answer, answer
    return answer["result"]


async def test_a_notification_belongs_to_the_trace_of_the_message(cluster: Cluster) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    caller = cluster.caller.with_headers(traceparent=f"00-{trace}-b7ad6b7169203331-01")
    async with hook() as receiver:
        await caller.send("echo x", configuration=inline(receiver.config()))
        await receiver.told("COMPLETED")
        assert {each.headers["traceparent"].split("-")[1] for each in receiver.taken} == {trace}


def user_says(text: str, task_id: str = "") -> SendMessageRequest:
    message = Message(
        message_id=str(uuid.uuid4()),
        role=Role.ROLE_USER,
        parts=[Part(text=text)],
        task_id=task_id,
    )
    return SendMessageRequest(message=message)
