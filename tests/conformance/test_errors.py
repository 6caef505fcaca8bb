"""Each error has the code of its binding, and says its reason in the same words on both."""

import uuid
from typing import Final

import pytest

from tests.support.calls import BINDINGS, JSONRPC, Caller, send_params
from tests.support.cluster import Cluster
from tests.support.results import Json

NOT_FOUND: Final = ("TASK_NOT_FOUND", -32001, 404)
NOT_CANCELABLE: Final = ("TASK_NOT_CANCELABLE", -32002, 400)
NO_PUSH: Final = ("PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 400)
UNSUPPORTED: Final = ("UNSUPPORTED_OPERATION", -32004, 400)
MEDIA_TYPE: Final = ("CONTENT_TYPE_NOT_SUPPORTED", -32005, 400)
VERSION: Final = ("VERSION_NOT_SUPPORTED", -32009, 400)
PARAMS: Final = ("INVALID_PARAMS", -32602, 400)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_each_error_has_its_code_status_and_reason(cluster: Cluster, binding: str) -> None:
    caller = cluster.caller.over(binding)
    unknown = str(uuid.uuid4())
    done = (await caller.send_task("echo x"))["id"]
    image = [{"raw": "AAAA", "mediaType": "image/png"}]
    calls: list[tuple[str, Json, tuple[str, int, int]]] = [
        ("GetTask", {"id": unknown}, NOT_FOUND),
        ("CancelTask", {"id": unknown}, NOT_FOUND),
        ("SubscribeToTask", {"id": unknown}, NOT_FOUND),
        ("SendMessage", send_params("echo x", task_id=unknown), NOT_FOUND),
        ("SendStreamingMessage", send_params("echo x", task_id=unknown), NOT_FOUND),
        ("CancelTask", {"id": done}, NOT_CANCELABLE),
        ("ListTaskPushNotificationConfigs", {"taskId": done}, NO_PUSH),
        ("SubscribeToTask", {"id": done}, UNSUPPORTED),
        ("SendMessage", send_params("echo x", task_id=done), UNSUPPORTED),
        ("SendMessage", send_params(parts=image), MEDIA_TYPE),
        ("SendMessage", {"message": {}}, PARAMS),
        ("ListTasks", {"pageSize": 101}, PARAMS),
    ]
    for method, params, expected in calls:
        await _fails(caller, method, params, expected)
    other = caller.with_headers(A2A_Version="1.7")
    await _fails(other, "GetTask", {"id": done}, VERSION)


async def _fails(caller: Caller, method: str, params: Json, expected: tuple[str, int, int]) -> None:
    reason, code, status = expected
    response = await caller.raw(method, params)
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    if caller.binding == JSONRPC:
        assert (response.status_code, error["code"]) == (200, code), (method, error)
        details = error["data"]
    else:
        assert (response.status_code, error["code"]) == (status, status), (method, error)
        assert error["status"]
        details = error["details"]
    assert error["message"]
    assert details[0]["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert details[0]["reason"] == reason, (method, error)
    assert details[0]["domain"] == "a2a-protocol.org"
