"""ListTasks over HTTP: filters, odd values, refusals, and tasks that change while one pages."""

import asyncio
import uuid

import pytest
from a2a.types import Task
from google.protobuf.json_format import ParseDict
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import ResetReapplyExcludeType
from temporalio.api.workflowservice.v1 import (
    DeleteWorkflowExecutionRequest,
    ResetWorkflowExecutionRequest,
)

from tests.support.calls import Caller, all_of, over_every_binding, refused
from tests.support.cluster import Cluster
from tests.support.results import Json, artifact_text, state
from tests.support.temporal_server import NAMESPACE
from tests.support.waiting import eventually

ODD_CONTEXTS = [
    "' OR 1=1 --",
    '" OR ""="',
    "\\",
    "back\\'slash\\",
    "a' AND A2aState = 'working",
    "NULL",
    "x OR y",
    "%",
    "*",
    "2026-01-01T00:00:00Z",
    "\N{PILE OF POO}" * 60,
    "\N{PILE OF POO}",
    "nul\0inside",
    "line\nbreak\ttab",
    "x" * 2000,
    "x" * 1999,
    " leading and trailing ",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
]


async def _listed(caller: Caller, *ids: str, **wanted: object) -> Json:
    """List until visibility shows that many tasks (it may be late by a second)."""

    async def look() -> Json:
        page = await caller.list(**wanted)
        assert sorted(task["id"] for task in page["tasks"]) == sorted(ids), page
        assert page["totalSize"] == len(ids), page
        return page

    return await eventually(look, within=30, what=f"the list of {wanted}")


async def _listed_as_completed(caller: Caller, tasks: list[Json]) -> None:
    """Wait until visibility knows the last status of tasks, by which they are sorted."""
    await _listed(caller, *(task["id"] for task in tasks), status="TASK_STATE_COMPLETED")


def _ids(messages: list[Json]) -> list[str]:
    return [message["messageId"] for message in messages]


async def test_tasks_are_filtered_by_context_and_state(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        one, two = str(uuid.uuid4()), str(uuid.uuid4())
        done = await caller.send_task("echo a", context_id=one)
        asked = await caller.send_task("ask colour?", context_id=one)
        failed = await caller.send_task("boom", context_id=one)
        other = await caller.send_task("echo b", context_id=two)

        page = await _listed(caller, done["id"], asked["id"], failed["id"], contextId=one)
        assert [task["id"] for task in page["tasks"]] == [failed["id"], asked["id"], done["id"]]
        assert page["nextPageToken"] == ""
        assert page["pageSize"] == 50
        await _listed(caller, other["id"], contextId=two)
        for name, task in (("COMPLETED", done), ("INPUT_REQUIRED", asked), ("FAILED", failed)):
            await _listed(caller, task["id"], contextId=one, status=f"TASK_STATE_{name}")
        since = asked["status"]["timestamp"]
        await _listed(caller, asked["id"], failed["id"], contextId=one, statusTimestampAfter=since)
        await _listed(caller, contextId=one, status="TASK_STATE_CANCELED")

        await caller.send_task("red", task_id=asked["id"])
        await _listed(caller, contextId=one, status="TASK_STATE_INPUT_REQUIRED")
        page = await _listed(
            caller, asked["id"], done["id"], contextId=one, status="TASK_STATE_COMPLETED"
        )
        assert page["tasks"][0]["id"] == asked["id"]

    await over_every_binding(cluster.caller, scenario)


async def test_artifacts_only_when_asked_for_and_history_as_long_as_asked_for(
    cluster: Cluster,
) -> None:
    async def scenario(caller: Caller) -> None:
        context_id = str(uuid.uuid4())
        task = await caller.send_task("ask colour?", context_id=context_id)
        task = await caller.send_task("red", task_id=task["id"])

        (bare,) = (await _listed(caller, task["id"], contextId=context_id))["tasks"]
        assert "artifacts" not in bare
        assert _ids(bare["history"]) == _ids(task["history"])
        full = await _listed(caller, task["id"], contextId=context_id, includeArtifacts=True)
        assert artifact_text(full["tasks"][0], "answer") == "red"
        assert ParseDict(full["tasks"][0], Task()) == ParseDict(
            await caller.get(task["id"]), Task()
        )
        (short,) = (await _listed(caller, task["id"], contextId=context_id, historyLength=1))[
            "tasks"
        ]
        assert _ids(short["history"]) == _ids(task["history"])[-1:]
        (none,) = (await _listed(caller, task["id"], contextId=context_id, historyLength=0))[
            "tasks"
        ]
        assert not none.get("history")

    await over_every_binding(cluster.caller, scenario)


async def test_a_context_of_any_characters_finds_its_own_tasks_only(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        mark = uuid.uuid4().hex[:6]
        caller = caller.as_user("carol", tenant=f"odd-{mark}")

        async def one(context_id: str) -> None:
            task = await caller.send_task("echo odd", context_id=context_id)
            assert task["contextId"] == context_id
            await _listed(caller, task["id"], contextId=context_id)
            await _listed(caller, contextId=context_id + "'")

        await all_of(*(one(context_id) for context_id in ODD_CONTEXTS))
        assert (await caller.list())["totalSize"] == len(ODD_CONTEXTS)

    await over_every_binding(cluster.caller, scenario)


async def test_values_out_of_range_are_refused(cluster: Cluster) -> None:
    async def scenario(caller: Caller) -> None:
        caller = caller.as_user("alice", tenant=uuid.uuid4().hex[:8])
        tasks = await all_of(*(caller.send_task("echo x") for _ in range(3)))
        await _listed_as_completed(caller, tasks)
        token = (await caller.list(pageSize=1))["nextPageToken"]
        for wrong in (
            {"pageSize": 0},
            {"pageSize": 101},
            {"pageSize": -5},
            {"historyLength": -1},
            {"status": "TASK_STATE_ON_FIRE"},
            {"status": "working"},
            {"pageToken": "garbage"},
            {"pageToken": "e30"},
            {"pageToken": token[:-3]},
            {"pageToken": token, "contextId": "another"},
            {"pageToken": token, "status": "TASK_STATE_WORKING"},
        ):
            await refused(caller.list(**wrong), code=-32602, status=400)
        await refused(caller.as_user("bob").list(pageToken=token), code=-32602, status=400)
        elsewhere = caller.as_user("alice", tenant="elsewhere")
        await refused(elsewhere.list(pageToken=token), code=-32602, status=400)
        assert (await caller.list(pageToken=token, pageSize=100))["tasks"]

    await over_every_binding(cluster.caller, scenario)


async def test_a_page_token_outlives_the_task_it_names(cluster: Cluster) -> None:
    caller = cluster.caller.as_user("alice", tenant=uuid.uuid4().hex[:8])
    tasks = [await caller.send_task("echo x") for _ in range(3)]
    await _listed_as_completed(caller, tasks)
    page = await caller.list(pageSize=1)
    (newest,) = page["tasks"]
    await cluster.client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(
            namespace=NAMESPACE, workflow_execution=WorkflowExecution(workflow_id=newest["id"])
        )
    )
    rest = await caller.list(pageSize=50, pageToken=page["nextPageToken"])
    assert [task["id"] for task in rest["tasks"]] == [tasks[1]["id"], tasks[0]["id"]]
    assert rest["nextPageToken"] == ""


async def test_a_run_that_a_reset_replaced_is_not_listed_a_second_time(cluster: Cluster) -> None:
    caller = cluster.caller.as_user("alice", tenant=uuid.uuid4().hex[:8])
    task = await caller.send_task("echo x")
    await _listed(caller, task["id"])
    await cluster.client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=NAMESPACE,
            workflow_execution=WorkflowExecution(workflow_id=task["id"]),
            workflow_task_finish_event_id=4,
            request_id=str(uuid.uuid4()),
            reset_reapply_exclude_types=[ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL],
        )
    )

    async def done_again() -> bool:
        return await cluster.runs(task["id"]) == 2 and state(await caller.get(task["id"])) == (
            "COMPLETED"
        )

    await eventually(done_again, within=20)
    page = await _listed(caller, task["id"])
    assert page["tasks"][0]["status"] == (await caller.get(task["id"]))["status"]


@pytest.mark.parametrize("size", [1, 50])
async def test_what_stands_still_is_seen_once_while_others_move(
    cluster: Cluster, size: int
) -> None:
    caller = cluster.caller.as_user("alice", tenant=uuid.uuid4().hex[:8])
    still = await all_of(*(caller.send_task(f"echo {number}") for number in range(20)))
    moving = await all_of(*(caller.start("status 2; pause 0.2; " * 20) for _ in range(3)))
    await _listed_as_completed(caller, still)
    await _listed(caller, *(task["id"] for task in [*still, *moving]))

    seen: list[str] = []
    token = ""
    while True:
        page = await caller.list(pageSize=size, pageToken=token)
        seen += [task["id"] for task in page["tasks"]]
        token = page["nextPageToken"]
        if not token:
            break
        await asyncio.sleep(0.01)
    for task in still:
        assert seen.count(task["id"]) == 1
    assert set(seen) <= {task["id"] for task in [*still, *moving]}
