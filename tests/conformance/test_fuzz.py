"""No body makes a server fail: malformed JSON, wrong types, huge, deep and absent values."""

import json
import uuid
from typing import Any, Final, cast

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.calls import send_params
from tests.support.cluster import Cluster

VERSION: Final = {"A2A-Version": "1.0", "Content-Type": "application/json"}
INTERNALS: Final = ("Traceback", "/site-packages/", "a2a_temporal", "Exception", "temporalio")

_ODD: Final[list[Any]] = ["x" * 5000, "\0", "\ud800", 10**400, "9" * 400, [[[[[]]]]], {"a": {}}]
_PRIMITIVES: Final[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=40)
    | st.sampled_from(_ODD)
)
_JSON: Final[Any] = st.recursive(
    _PRIMITIVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=12,
)
_IDS = {"id": str(uuid.uuid4()), "taskId": "x", "tenant": "", "pageSize": 2, "historyLength": 1}
_CALLS: Final[dict[str, dict[str, Any]]] = {
    "SendMessage": send_params("echo x", return_immediately=True),
    "SendStreamingMessage": send_params("echo x"),
    "GetTask": _IDS,
    "ListTasks": {"pageSize": 2, "pageToken": "", "status": "TASK_STATE_WORKING"},
    "CancelTask": _IDS,
    "SubscribeToTask": _IDS,
    "CreateTaskPushNotificationConfig": {"taskId": "x", "url": "https://example.com"},
    "GetExtendedAgentCard": {},
    "message/send": {"message": {"kind": "message", "role": "user", "parts": []}},
    "tasks/get": {"id": "x"},
}
_REST: Final = ("/message:send", "/message:stream", "/tasks/x:cancel", "/v1/message:send")


@st.composite
def _damaged(draw: st.DrawFn, value: Any) -> Any:
    """Replace one value somewhere inside by anything."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        fields = cast("dict[str, Any]", value)
        name = draw(st.sampled_from(sorted(fields)))
        return {**fields, name: draw(_damaged(fields[name]))}
    if isinstance(value, list) and value and draw(st.booleans()):
        items = cast("list[Any]", value)
        return [draw(_damaged(items[0])), *items[1:]]
    return draw(_JSON)


@st.composite
def _bodies(draw: st.DrawFn) -> tuple[str, bytes]:
    """Return a path and what is posted to it."""
    method = draw(st.sampled_from(sorted(_CALLS)))
    params = draw(_damaged(_CALLS[method]))
    if draw(st.booleans()):
        path = draw(st.sampled_from(_REST))
        body: Any = params
    else:
        path = "/"
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        if not draw(st.integers(0, 3)):
            body = draw(_damaged(body))
    text = json.dumps(body).encode("utf-8", "surrogatepass")
    if not draw(st.integers(0, 5)):
        text = text[: draw(st.integers(0, len(text)))] + draw(st.binary(max_size=8))
    return path, text


@pytest.mark.timeout(300)
def test_no_body_makes_a_server_fail(cluster: Cluster) -> None:
    api = cluster.apis[0]
    before = api.process.output().count("unexpected error")

    with httpx.Client(base_url=api.url, timeout=20, trust_env=False) as http:

        @settings(
            max_examples=150,
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow],
        )
        @given(_bodies())
        def answered(call: tuple[str, bytes]) -> None:
            path, body = call
            response = http.post(path, content=body, headers=VERSION)
            assert response.status_code < 500, (path, body, response.text)
            error: Any = response.json().get("error") if _is_json(response) else None
            assert not any(word in json.dumps(error) for word in INTERNALS), (body, error)

        answered()
        deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
        for path in ("/", *_REST):
            assert http.post(path, content=deep, headers=VERSION).status_code < 500, path
        card = http.get("/.well-known/agent-card.json")
        assert card.status_code == 200
    log = api.process.output()
    assert log.count("unexpected error") == before, log[-5000:]


def _is_json(response: httpx.Response) -> bool:
    return response.headers.get("content-type", "").startswith("application/json")
