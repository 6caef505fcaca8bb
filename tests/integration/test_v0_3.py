"""Clients of protocol version 0.3, on the tasks that 1.0 clients see too."""

import json
import uuid
from typing import Any

import httpx

from tests.support.cluster import Cluster
from tests.support.frames import state_in
from tests.support.results import Json, state


async def _rpc(cluster: Cluster, method: str, params: Json, **headers: str) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    return await cluster.http.post(f"{cluster.apis[0].url}/", json=body, headers=headers)


async def _rest(cluster: Cluster, verb: str, path: str, body: Json | None = None) -> httpx.Response:
    return await cluster.http.request(verb, f"{cluster.apis[0].url}/v1{path}", json=body)


def _message(text: str, **fields: Any) -> Json:
    return {
        "message": {
            "kind": "message",
            "messageId": str(uuid.uuid4()),
            "role": "user",
            "parts": [{"kind": "text", "text": text}],
            **fields,
        }
    }


def _frames(response: httpx.Response) -> list[Json]:
    assert response.headers["content-type"].startswith("text/event-stream"), response.text
    lines = response.text.splitlines()
    return [httpx.Response(200, text=line[6:]).json() for line in lines if line[:6] == "data: "]


async def test_a_task_is_one_task_whichever_version_reads_it(cluster: Cluster) -> None:
    old = (await _rpc(cluster, "message/send", _message("ask colour?"))).json()["result"]
    assert old["kind"] == "task"
    assert old["status"]["state"] == "input-required"
    assert state(await cluster.caller.get(old["id"])) == "INPUT_REQUIRED"
    new = await cluster.caller.send_task("echo hi")
    read = (await _rpc(cluster, "tasks/get", {"id": new["id"]})).json()["result"]
    assert read["status"]["state"] == "completed"
    answer = _message("red", taskId=old["id"])
    done = (await _rpc(cluster, "message/send", answer)).json()["result"]
    assert done["status"]["state"] == "completed"
    assert state(await cluster.caller.get(old["id"])) == "COMPLETED"
    rest = (await _rest(cluster, "GET", f"/tasks/{old['id']}")).json()
    assert rest["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_question_is_the_final_event_of_its_stream(cluster: Cluster) -> None:
    frames = _frames(await _rpc(cluster, "message/stream", _message("ask colour?")))
    results = [frame["result"] for frame in frames]
    assert results[0]["kind"] == "task"
    assert [each.get("final") for each in results if each["kind"] == "status-update"][-1] is True
    assert results[-1]["status"]["state"] == "input-required"
    updates = [each for each in results if each["kind"] == "status-update"]
    assert [each["final"] for each in updates[:-1]] == [False] * (len(updates) - 1)

    caller = cluster.caller
    task_id = results[0]["id"]
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": task_id}}
    async with cluster.http.stream("POST", f"{cluster.apis[1].url}/", json=body) as response:
        lines = response.aiter_lines()
        first = await anext(line async for line in lines if line.startswith("data: "))
        assert '"kind":"task"' in first.replace(" ", "")
        await caller.send_task("red", task_id=task_id)
        rest = [line async for line in lines if line.startswith("data: ")]
    assert '"final":true' in rest[-1].replace(" ", "")
    assert '"state":"completed"' in rest[-1].replace(" ", "")
    assert state_in({"task": await caller.get(task_id)}) == "COMPLETED"


async def test_a_refused_stream_is_its_error_alone_over_json_rpc_and_no_stream_over_rest(
    cluster: Cluster,
) -> None:
    unknown = str(uuid.uuid4())
    done = (await cluster.caller.send_task("echo hi"))["id"]
    for method, params, code in (
        ("message/stream", _message("hi", taskId=unknown), -32001),
        ("message/stream", _message("hi", taskId=done), -32004),
        ("tasks/resubscribe", {"id": unknown}, -32001),
        ("tasks/resubscribe", {"id": done}, -32004),
    ):
        response = await _rpc(cluster, method, params)
        assert response.headers["content-type"].startswith("text/event-stream"), response.text
        (data,) = [line for line in response.text.splitlines() if line.startswith("data: ")]
        refusal = json.loads(data.removeprefix("data: "))
        assert refusal["error"]["code"] == code
        assert refusal["id"] == 7
    for path, status in ((unknown, 404), (done, 400)):
        response = await _rest(cluster, "GET", f"/tasks/{path}:subscribe")
        assert response.status_code == status, response.text
        assert "text/event-stream" not in response.headers["content-type"]


async def test_both_spellings_of_the_extensions_header_reach_the_agent(cluster: Cluster) -> None:
    for header in ("X-A2A-Extensions", "A2A-Extensions"):
        response = await _rpc(
            cluster, "message/send", _message("whoami"), **{header: "urn:one, urn:two"}
        )
        (artifact,) = response.json()["result"]["artifacts"]
        assert artifact["parts"][0]["data"]["extensions"] == ["urn:one", "urn:two"]


async def test_an_error_of_0_3_has_a_code_that_0_3_knows(cluster: Cluster) -> None:
    response = await _rpc(cluster, "tasks/get", {"id": "none"})
    assert response.json()["error"]["code"] == -32001
    response = await _rpc(cluster, "tasks/cancel", {"id": "none"})
    assert response.json()["error"]["code"] == -32001
    response = await _rpc(cluster, "message/send", {"message": {"role": "user"}})
    assert response.json()["error"]["code"] in (-32600, -32602)
