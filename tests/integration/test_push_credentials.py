"""P4: credentials reach their receiver exactly, and nobody and nothing else."""

import base64
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Final

import pytest
import pytest_asyncio
from a2a.server.context import ServerCallContext
from a2a.types import AgentCapabilities, AgentCard, GetTaskRequest
from a2a.utils.errors import InternalError

from a2a_temporal import TemporalRequestHandler
from a2a_temporal._encryption import KEYS_VARIABLE
from a2a_temporal.push import verify
from tests.support.calls import all_of, refused
from tests.support.cluster import Cluster, running_cluster
from tests.support.hook import Hook, Received, hook
from tests.support.push import (
    REDACTED,
    get_config,
    inline,
    list_configs,
    pushing,
    redacted,
    set_config,
)
from tests.support.results import Json
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

INVALID_PARAMS: Final = -32602
SIGNING_KEY: Final = f"whsec_{base64.b64encode(b'a signing key of 32 bytes for us').decode()}"


@pytest_asyncio.fixture(scope="module")
async def cluster(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Cluster]:
    options = pushing(f"--push-signing-key={SIGNING_KEY}", encrypted=True)
    options = replace(options, env={**options.env, "LOG_LEVEL": "DEBUG"})
    folder = tmp_path_factory.mktemp("encrypted")
    async with running_cluster(temporal, folder, apis=1, workers=1, options=options) as cluster:
        yield cluster


def secret(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex}"


async def test_each_receiver_gets_what_its_config_says(cluster: Cluster) -> None:
    bearer, basic, token = secret("bearer"), secret("basic"), secret("token")
    configs: dict[str, Json] = {
        "bearer": {"authentication": {"scheme": "Bearer", "credentials": bearer}},
        "basic": {"authentication": {"scheme": "Basic", "credentials": basic}, "token": token},
        "token": {"token": token},
        "scheme": {"authentication": {"scheme": "Bearer"}},
        "none": {},
    }
    expected = {
        "bearer": (f"Bearer {bearer}", None),
        "basic": (f"Basic {basic}", token),
        "token": (None, token),
        "scheme": (None, None),
        "none": (None, None),
    }
    async with AsyncExitStack() as stack:
        hooks = {name: await stack.enter_async_context(hook()) for name in configs}
        first = hooks["bearer"].config(id="bearer", **configs.pop("bearer"))
        task = await cluster.caller.send_task("ask it", configuration=inline(first))
        for name, fields in configs.items():
            await set_config(cluster.caller, task["id"], hooks[name].config(id=name, **fields))
        await cluster.caller.send_task("answer", task_id=task["id"])
        await all_of(*(receiver.told("COMPLETED") for receiver in hooks.values()))
        for name, receiver in hooks.items():
            assert seen_headers(receiver) == {expected[name]}, name
            for received in receiver.taken:
                check_request(received)

    for value in (bearer, basic, token):
        assert not cluster.temporal.holds(value)
        assert not logged(cluster, value)
    assert logged(cluster, "DEBUG")


async def test_the_database_would_show_what_is_not_encrypted(cluster: Cluster) -> None:
    plain = await cluster.temporal.client()
    control, said = secret("control"), secret("said")
    await plain.start_workflow("none", control, id=control[:20], task_queue="none")
    assert cluster.temporal.holds(control[8:])
    await cluster.caller.send(f"echo {said}")
    assert not cluster.temporal.holds(said)
    await plain.get_workflow_handle(control[:20]).terminate()


async def test_nobody_reads_credentials_back(cluster: Cluster) -> None:
    alice, bob = (cluster.caller.as_user(name) for name in ("alice", "bob"))
    bearer, token = secret("bearer"), secret("token")
    async with hook() as receiver:
        config = receiver.config(
            id="mine", token=token, authentication={"scheme": "Bearer", "credentials": bearer}
        )
        task = await alice.send_task("ask it", configuration=inline(config))
        read = await get_config(alice, task["id"], "mine")
        assert read == redacted({**config, "taskId": task["id"]})
        assert (await list_configs(alice, task["id"]))["configs"] == [read]
        refusal = await refused(get_config(bob, task["id"], "mine"), code=-32001)
        assert bearer not in refusal.body


async def test_a_config_that_is_set_as_it_was_read_keeps_its_secrets(cluster: Cluster) -> None:
    bearer, token = secret("bearer"), secret("token")
    async with hook() as receiver:
        config = receiver.config(
            id="mine", token=token, authentication={"scheme": "Bearer", "credentials": bearer}
        )
        for text in ("ask it", "echo x"):
            task = await cluster.caller.send_task(text, configuration=inline(config))
            read = await get_config(cluster.caller, task["id"], "mine")
            read["url"] += "/moved"
            assert await set_config(cluster.caller, task["id"], read) == read
            assert await get_config(cluster.caller, task["id"], "mine") == read
        task = await cluster.caller.send_task("ask it", configuration=inline(config))
        read["authentication"]["scheme"] = "Basic"
        answer = {"task_id": task["id"], "configuration": inline(read)}
        await cluster.caller.send_task("answer", **answer)
        await eventually(
            lambda: any(each.path == "/hook/moved" for each in receiver.taken), within=30
        )
        assert seen_headers(receiver) <= {
            (f"Bearer {bearer}", token),
            (f"Basic {bearer}", token),
        }


async def test_a_redacted_value_stands_for_nothing_but_a_secret_of_its_config(
    cluster: Cluster,
) -> None:
    async with hook() as receiver:
        config = receiver.config(id="mine", token=secret("token"))
        task = await cluster.caller.send_task("ask it", configuration=inline(config))
        credentials = {"scheme": "Bearer", "credentials": REDACTED}
        for wrong in (
            {**config, "id": "another", "token": REDACTED},
            {"url": receiver.url, "token": REDACTED},
            {**config, "authentication": credentials},
            {**config, "url": "http://hooks.example.com/", "token": REDACTED},
        ):
            await refused(set_config(cluster.caller, task["id"], wrong), code=INVALID_PARAMS)
        with_message = inline({**config, "token": REDACTED})
        refusal = await refused(
            cluster.caller.send("echo x", configuration=with_message), code=INVALID_PARAMS
        )
        assert "Send the value itself" in refusal.message


async def test_without_encryption_credentials_are_refused(pusher: Cluster) -> None:
    async with hook() as receiver:
        task = await pusher.caller.send_task("ask it", configuration=inline(receiver.config()))
        value = secret("value")
        for fields in (
            {"token": value},
            {"authentication": {"scheme": "Bearer", "credentials": value}},
        ):
            config = receiver.config(**fields)
            for call in (
                set_config(pusher.caller, task["id"], config),
                pusher.caller.send("answer", task_id=task["id"], configuration=inline(config)),
                pusher.caller.send("echo", configuration=inline(config)),
            ):
                refusal = await refused(call, code=INVALID_PARAMS)
                assert "A2A_TEMPORAL_ENCRYPTION_KEYS" in refusal.message
                assert value not in refusal.body
        assert not pusher.temporal.holds(value)


def seen_headers(receiver: Hook) -> set[tuple[str | None, str | None]]:
    return {
        (each.headers.get("authorization"), each.headers.get("x-a2a-notification-token"))
        for each in receiver.taken
    }


def check_request(received: Received) -> None:
    assert received.method == "POST"
    assert received.headers["content-type"] == "application/a2a+json"
    assert len(received.json) == 1
    assert received.headers["traceparent"].count("-") == 3
    assert (
        verify(received.body, received.headers, key=SIGNING_KEY) == received.headers["webhook-id"]
    )


def logged(cluster: Cluster, text: str) -> bool:
    return any(text in path.read_text() for path in cluster.folder.glob("*.log"))


async def test_without_the_right_key_a_task_is_unreadable_but_not_unknown(
    cluster: Cluster,
) -> None:
    task = await cluster.caller.send_task("ask it")
    other = {KEYS_VARIABLE: f"k2:{base64.b64encode(bytes(32)).decode()}"}
    card = AgentCard(name="bench", version="1", capabilities=AgentCapabilities())
    for env in ({}, other):
        handler = TemporalRequestHandler(
            await cluster.temporal.client(env=env), agent_card=card, task_queue="none"
        )
        try:
            with pytest.raises(InternalError, match="temporarily unavailable"):
                await handler.on_get_task(GetTaskRequest(id=task["id"]), ServerCallContext())
        finally:
            await handler.aclose()
