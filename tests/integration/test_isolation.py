"""Nobody learns of another's task: every answer about it is that about an id that never was."""

import base64
import re
import uuid
from collections.abc import AsyncIterator
from datetime import datetime, timezone

import pytest
import pytest_asyncio

from tests.support.calls import BINDINGS, JSONRPC, Caller, refused, send_params
from tests.support.cluster import Cluster, running_cluster
from tests.support.push import pushing
from tests.support.results import artifact_data, state
from tests.support.seeding import SeededAgent
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within


@pytest_asyncio.fixture(scope="module")
async def served(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Cluster]:
    """Two servers that offer every operation."""
    folder = tmp_path_factory.mktemp("isolation")
    async with running_cluster(temporal, folder, apis=2, workers=1, options=pushing()) as cluster:
        yield cluster


async def _answers(caller: Caller, task_id: str) -> dict[str, tuple[int, str]]:
    """Try every operation with an id; status and body of each answer, the id blotted out."""
    config = {"url": "https://hooks.example.com/x"}
    calls = {
        "GetTask": {"id": task_id},
        "CancelTask": {"id": task_id},
        "SubscribeToTask": {"id": task_id},
        "SendMessage": send_params("echo hi", task_id=task_id, message_id="fixed"),
        "SendStreamingMessage": send_params("echo hi", task_id=task_id, message_id="fixed"),
        "CreateTaskPushNotificationConfig": {"taskId": task_id, **config},
        "GetTaskPushNotificationConfig": {"taskId": task_id, "id": "mine"},
        "ListTaskPushNotificationConfigs": {"taskId": task_id},
        "DeleteTaskPushNotificationConfig": {"taskId": task_id, "id": "mine"},
    }
    found: dict[str, tuple[int, str]] = {}
    for method, params in calls.items():
        response = await within(10, caller.raw(method, params), what=method)
        found[method] = (response.status_code, response.text.replace(task_id, "TASK"))
        assert "TASK_NOT_FOUND" in response.text, f"{method}: {response.text}"
        assert response.headers["content-type"] == "application/json"
    return found


@pytest.mark.parametrize("binding", BINDINGS)
async def test_every_answer_about_a_foreign_task_is_that_about_no_task(
    served: Cluster, binding: str
) -> None:
    alices, others = served.callers(binding=binding)
    alice = alices.as_user("alice", tenant="t1")
    parked = (await alice.send_task("ask colour?"))["id"]
    running = (await alice.start("sleep 20"))["id"]
    done = (await alice.send_task("echo hi"))["id"]
    strangers = {
        "another user": others.as_user("bob", tenant="t1"),
        "another tenant": others.as_user("alice", tenant="t2"),
        "no tenant": others.as_user("alice", tenant=""),
        "nobody": others.as_user(None, tenant="t1"),
    }
    for name, stranger in strangers.items():
        nothing = await _answers(stranger, str(uuid.uuid4()))
        for task_id in (parked, running, done):
            assert await _answers(stranger, task_id) == nothing, name
        listed = await stranger.list(pageSize=100)
        assert not {parked, running, done} & {task["id"] for task in listed["tasks"]}, name

    assert not await served.requests(parked)
    seen = await alice.list(pageSize=100)
    assert {parked, running, done} <= {task["id"] for task in seen["tasks"]}
    assert state(await alice.send_task("red", task_id=parked)) == "COMPLETED"
    assert state(await alice.cancel(running)) == "CANCELED"


@pytest.mark.parametrize("binding", BINDINGS)
async def test_who_is_asked_to_decide_may_not_cancel(served: Cluster, binding: str) -> None:
    caller = served.caller.over(binding)
    alice, carol = caller.as_user("alice"), caller.as_user("carol")
    task_id = (await alice.send_task("approve x"))["id"]

    refusal = await refused(carol.cancel(task_id), code=-32002)

    assert "owner" in refusal.message
    assert state(await carol.get(task_id)) == "INPUT_REQUIRED"
    assert state(await alice.cancel(task_id)) == "CANCELED"


@pytest.mark.parametrize("binding", BINDINGS)
async def test_workflows_of_others_in_the_namespace_do_not_exist(
    served: Cluster, binding: str
) -> None:
    caller = served.caller.over(binding)
    foreign = await served.client.start_workflow(
        "Payroll", id=str(uuid.uuid4()), task_queue=f"nobody-{uuid.uuid4()}"
    )
    agent = SeededAgent(served.client)
    (other_agents,) = await agent.submit([_noon()])
    nothing = await _answers(caller, str(uuid.uuid4()))
    for workflow_id in (foreign.id, other_agents):
        assert await _answers(caller, workflow_id) == nothing
        assert not await served.requests(workflow_id)
    listed = await caller.list(pageSize=100)
    assert not {foreign.id, other_agents} & {task["id"] for task in listed["tasks"]}
    await agent.handler.aclose()


async def test_path_and_body_must_not_name_different_tenants(served: Cluster) -> None:
    alice = served.caller.over("HTTP+JSON").as_user("alice")
    url = f"{alice.url}/t1/message:send"
    headers = {"A2A-Version": "1.0", "Authorization": "Bearer alice"}
    same = await served.http.post(
        url, json={**send_params("echo x"), "tenant": "t1"}, headers=headers
    )
    assert same.status_code == 200, same.text
    other = await served.http.post(
        url, json={**send_params("echo x"), "tenant": "t2"}, headers=headers
    )
    assert other.status_code == 400
    assert "INVALID_PARAMS" in other.text


async def test_the_same_message_makes_one_task_for_each_owner_and_tenant(served: Cluster) -> None:
    first, second = served.callers(binding=JSONRPC)
    message_id = str(uuid.uuid4())
    made = {
        (await each.as_user(user, tenant=tenant).send_task("echo x", message_id=message_id))["id"]
        for user in ("alice", "bob", None)
        for tenant in ("t1", "t2", "")
        for each in (first, second)
    }
    assert len(made) == 9


async def test_a_deleted_task_may_be_made_again_by_its_message(served: Cluster) -> None:
    caller = served.caller
    message_id = str(uuid.uuid4())
    task = await caller.send_task("echo x", message_id=message_id)
    await served.delete(task["id"])
    await refused(caller.get(task["id"]), code=-32001, status=404)
    await refused(caller.cancel(task["id"]), code=-32001, status=404)
    again = await caller.send_task("echo x", message_id=message_id)
    assert again["id"] == task["id"]
    assert state(again) == "COMPLETED"


@pytest.mark.parametrize("binding", BINDINGS)
async def test_the_agent_knows_who_began_the_turn_and_never_a_token(
    served: Cluster, binding: str
) -> None:
    alice = served.caller.over(binding).as_user("alice", tenant="t1")
    asking = alice.with_headers(
        A2A_Extensions="urn:one", traceparent="00-" + "1" * 32 + "-" + "2" * 16 + "-01"
    )
    task = await asking.send_task("whoami; ask colour?; whoami")
    seen = artifact_data(task, "whoami")
    assert seen["user"] == "alice"
    assert seen["authenticated"] is True
    assert seen["scopes"] == ["authenticated", "tasks"]
    assert seen["tenant"] == "t1"
    assert seen["extensions"] == ["urn:one"]
    assert seen["version"] == "1.0"
    assert seen["traceparent"].startswith("00-1")
    assert seen["contextId"] == task["contextId"]
    assert "authorization" not in seen["headers"]

    done = await alice.send_task("red", task_id=task["id"])
    later = [a["parts"][0]["data"] for a in done["artifacts"] if a["name"] == "whoami"][-1]
    assert later["user"] == "alice"
    assert not later["extensions"]
    assert later["turn"] == 2

    history = await served.workflow(task["id"]).fetch_history()
    stored = base64_decoded(history.to_json())
    assert '"user":"alice"' in stored
    assert "Bearer" not in stored


def base64_decoded(text: str) -> str:
    """Return an exported history with its payloads in clear."""
    payloads = re.findall(r'"data": ?"([A-Za-z0-9+/=]+)"', text)
    return text + "".join(base64.b64decode(each).decode(errors="replace") for each in payloads)


def _noon() -> datetime:
    return datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
