"""No call makes a server fail: malformed, wrong types, huge, deep, absent; over every binding."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import grpc
import httpx
import pytest
import pytest_asyncio
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import a2a_pb2 as new
from google.protobuf.json_format import Error as ProtoJsonError
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.cluster import Cluster, Options, running_cluster
from tests.support.fuzzing import ANYTHING, CALLS, INTERNALS, OLD_CALLS, damaged, examples
from tests.support.processes import Process, free_port
from tests.support.temporal_server import TemporalServer

_HANGS_AFTER: Final = 20.0


@dataclass(frozen=True, kw_only=True)
class _Fuzzed:
    cluster: Cluster
    grpc_port: int

    @property
    def url(self) -> str:
        return self.cluster.apis[0].url

    @property
    def process(self) -> Process:
        return self.cluster.apis[0].process


@pytest_asyncio.fixture(scope="module")
async def fuzzed(
    temporal: TemporalServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[_Fuzzed]:
    """A server with everything switched on."""
    port = free_port()
    options = Options(api=("--push", "--extended-card", f"--grpc-port={port}"))
    folder = tmp_path_factory.mktemp("fuzzed")
    async with running_cluster(temporal, folder, apis=1, workers=1, options=options) as cluster:
        yield _Fuzzed(cluster=cluster, grpc_port=port)


@pytest.fixture(autouse=True)
def lives(fuzzed: _Fuzzed) -> Iterator[None]:
    """Afterwards the server still serves, and has met nothing that it did not expect."""
    yield
    log = fuzzed.process.output()
    assert "unexpected error" not in log, log[-5000:]
    assert httpx.get(f"{fuzzed.url}/.well-known/agent-card.json", trust_env=False).is_success


@st.composite
def _rpc_bodies(draw: st.DrawFn) -> tuple[str, bytes]:
    """Return a version and what is posted to the endpoint."""
    version = draw(st.sampled_from(["1.0", "0.3"]))
    calls = CALLS if version == "1.0" else OLD_CALLS
    method = draw(st.sampled_from(sorted(calls)))
    params = draw(damaged(calls[method]))
    body: Any = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    if not draw(st.integers(0, 3)):
        body = draw(damaged(body))
    return version, _cut(draw, body)


_POSTS: Final[dict[str, dict[str, Any]]] = {
    "/message:send": CALLS["SendMessage"],
    "/message:stream": CALLS["SendStreamingMessage"],
    "/tasks/x:cancel": {"metadata": {}},
    "/tasks/x/pushNotificationConfigs": CALLS["CreateTaskPushNotificationConfig"],
}
_OLD_MESSAGE: Final = {
    "message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "echo x"}]},
    "configuration": {"blocking": False, "historyLength": 1},
}
_OLD_POSTS: Final[dict[str, dict[str, Any]]] = {
    "/v1/message:send": _OLD_MESSAGE,
    "/v1/message:stream": _OLD_MESSAGE,
    "/v1/tasks/x:cancel": {},
    "/v1/tasks/x/pushNotificationConfigs": {
        "parent": "tasks/x",
        "configId": "c",
        "config": {"name": "n", "pushNotificationConfig": {"url": "https://hook.invalid"}},
    },
}
_GETS: Final = ("/tasks", "/tasks/x", "/tasks/x:subscribe", "/tasks/x/pushNotificationConfigs/c")
_QUERY: Final = (
    *("historyLength", "pageSize", "pageToken", "status", "contextId", "includeArtifacts"),
    *("statusTimestampAfter", "tenant", "A2A-Version"),
)


@st.composite
def _rest_calls(draw: st.DrawFn) -> tuple[str, str, str, bytes]:
    """Return a version, a method, a path with its query, and a body."""
    version = draw(st.sampled_from(["1.0", "0.3"]))
    if draw(st.integers(0, 2)):
        posts = _POSTS if version == "1.0" else _OLD_POSTS
        path = draw(st.sampled_from(sorted(posts)))
        return version, "POST", path, _cut(draw, draw(damaged(posts[path])))
    names = draw(st.lists(st.sampled_from(_QUERY), max_size=3))
    values = [str(draw(ANYTHING)).encode("utf-8", "replace")[:2000] for _ in names]
    path = draw(st.sampled_from(_GETS))
    prefix = "" if version == "1.0" else "/v1"
    return version, "GET", f"{prefix}{path}?{urlencode(list(zip(names, values, strict=True)))}", b""


def _cut(draw: st.DrawFn, body: Any) -> bytes:
    """Write a body; now and then only a piece of it, with bytes behind it that are no text."""
    text = json.dumps(body).encode("utf-8", "surrogatepass")
    if not draw(st.integers(0, 5)):
        text = text[: draw(st.integers(0, len(text)))] + draw(st.binary(max_size=8))
    return text


def _check(response: httpx.Response, sent: object) -> None:
    assert response.status_code < 500, (sent, response.text)
    if response.headers.get("content-type", "").startswith("application/json"):
        answer = response.json()
        error = json.dumps(answer.get("error") if isinstance(answer, dict) else None)
        assert "-32603" not in error, (sent, error)
        assert not [word for word in INTERNALS if word in error], (sent, error)


def _http(fuzzed: _Fuzzed) -> httpx.Client:
    return httpx.Client(base_url=fuzzed.url, timeout=_HANGS_AFTER, trust_env=False)


@pytest.mark.timeout(300)
def test_no_json_rpc_body_makes_a_server_fail(fuzzed: _Fuzzed) -> None:
    with _http(fuzzed) as http:

        @examples(100)
        @given(_rpc_bodies())
        def answered(call: tuple[str, bytes]) -> None:
            version, body = call
            _check(http.post("/", content=body, headers={"A2A-Version": version}), call)

        answered()


@pytest.mark.timeout(300)
def test_no_rest_request_makes_a_server_fail(fuzzed: _Fuzzed) -> None:
    with _http(fuzzed) as http:

        @examples(100)
        @given(_rest_calls())
        def answered(call: tuple[str, str, str, bytes]) -> None:
            version, method, path, body = call
            headers = {"A2A-Version": version}
            _check(http.request(method, path, content=body or None, headers=headers), call)

        answered()


def test_no_name_makes_a_server_fail(fuzzed: _Fuzzed) -> None:
    with _http(fuzzed) as http:
        for version, calls in (("1.0", CALLS), ("0.3", OLD_CALLS)):
            for method, params in calls.items():
                message = {**params.get("message", {}), "\ud800": 1, "\x00": 2}
                for odd in ({**params, "\ud800": 1}, {**params, "message": message}):
                    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": odd}
                    _check(
                        http.post("/", content=json.dumps(body), headers={"A2A-Version": version}),
                        body,
                    )
        for version, posts in (("1.0", _POSTS), ("0.3", _OLD_POSTS)):
            for path, sound in posts.items():
                odd = {**sound, "\ud800": 1}
                _check(
                    http.post(path, content=json.dumps(odd), headers={"A2A-Version": version}), path
                )


def test_no_depth_makes_a_server_fail(fuzzed: _Fuzzed) -> None:
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    part = b'{"message":{"metadata":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_002
    with _http(fuzzed) as http:
        for path in ("/", *_POSTS, *_OLD_POSTS):
            version = "0.3" if path.startswith("/v1") else "1.0"
            for body in (deep, part):
                _check(http.post(path, content=body, headers={"A2A-Version": version}), path)


_REQUESTS: Final[dict[str, type[Message]]] = {
    "SendMessage": new.SendMessageRequest,
    "SendStreamingMessage": new.SendMessageRequest,
    "GetTask": new.GetTaskRequest,
    "ListTasks": new.ListTasksRequest,
    "CancelTask": new.CancelTaskRequest,
    "SubscribeToTask": new.SubscribeToTaskRequest,
    "CreateTaskPushNotificationConfig": new.TaskPushNotificationConfig,
    "GetTaskPushNotificationConfig": new.GetTaskPushNotificationConfigRequest,
    "ListTaskPushNotificationConfigs": new.ListTaskPushNotificationConfigsRequest,
    "DeleteTaskPushNotificationConfig": new.DeleteTaskPushNotificationConfigRequest,
    "GetExtendedAgentCard": new.GetExtendedAgentCardRequest,
}
_OLD_REQUESTS: Final[dict[str, tuple[type[Message], dict[str, Any]]]] = {
    "SendMessage": (old.SendMessageRequest, _OLD_MESSAGE),
    "SendStreamingMessage": (old.SendMessageRequest, _OLD_MESSAGE),
    "GetTask": (old.GetTaskRequest, {"name": "tasks/x", "historyLength": 1}),
    "CancelTask": (old.CancelTaskRequest, {"name": "tasks/x"}),
    "TaskSubscription": (old.TaskSubscriptionRequest, {"name": "tasks/x"}),
    "CreateTaskPushNotificationConfig": (
        old.CreateTaskPushNotificationConfigRequest,
        _OLD_POSTS["/v1/tasks/x/pushNotificationConfigs"],
    ),
    "GetTaskPushNotificationConfig": (
        old.GetTaskPushNotificationConfigRequest,
        {"name": "tasks/x/pushNotificationConfigs/c"},
    ),
    "GetAgentCard": (old.GetAgentCardRequest, {}),
}
_STREAMS: Final = ("SendStreamingMessage", "SubscribeToTask", "TaskSubscription")


@st.composite
def _grpc_calls(draw: st.DrawFn) -> tuple[str, str, bytes]:
    """Return a version, a method, and the bytes of a request: well-formed or not."""
    version = draw(st.sampled_from(["1.0", "0.3"]))
    if version == "1.0":
        method = draw(st.sampled_from(sorted(_REQUESTS)))
        request, sound = _REQUESTS[method](), CALLS[method]
    else:
        method = draw(st.sampled_from(sorted(_OLD_REQUESTS)))
        message_type, sound = _OLD_REQUESTS[method]
        request = message_type()
    try:
        ParseDict(draw(damaged(sound)), request, ignore_unknown_fields=True)
    except (ProtoJsonError, ValueError, TypeError, AttributeError, ArithmeticError, SystemError):
        request.Clear()  # what JSON cannot put into it, the bytes below may
    data = request.SerializeToString()
    if not draw(st.integers(0, 3)):
        data = data[: draw(st.integers(0, len(data)))] + draw(st.binary(max_size=40))
    return version, method, data


_FAILURES: Final = (
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
)
_SERVICES: Final = {"1.0": "lf.a2a.v1.A2AService", "0.3": "a2a.v1.A2AService"}


@pytest.mark.timeout(300)
def test_no_grpc_request_makes_a_server_fail(fuzzed: _Fuzzed) -> None:
    connected: Any = grpc.insecure_channel(f"127.0.0.1:{fuzzed.grpc_port}")
    with connected as channel:

        @examples(120)
        @example(("1.0", "CreateTaskPushNotificationConfig", b'"\x14https://hook.invalid'))
        @example(("1.0", "SendStreamingMessage", b"\0"))
        @given(_grpc_calls())
        def answered(call: tuple[str, str, bytes]) -> None:
            version, method, data = call
            path = f"/{_SERVICES[version]}/{method}"
            options: Any = {"timeout": _HANGS_AFTER, "metadata": (("a2a-version", version),)}
            try:
                if method in _STREAMS:
                    answers = channel.unary_stream(path)(data, **options)
                    assert list(answers)
                else:
                    channel.unary_unary(path)(data, **options)
            except grpc.RpcError as refusal:
                _check_refusal(refusal, call)

        answered()


def _check_refusal(refusal: Any, sent: object) -> None:
    code, details = refusal.code(), refusal.details()
    assert code not in _FAILURES, (sent, details)
    assert not [word for word in INTERNALS if word in details], (sent, details)
