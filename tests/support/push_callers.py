"""The operations on push configs over gRPC, and over every binding of protocol version 0.3.

Each caller takes the methods and parameters of 1.0 and answers as 1.0 does, so that one scenario
runs over all of them.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import grpc
import httpx
from a2a.compat.v0_3 import a2a_v0_3_pb2 as v0_3
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.types import a2a_pb2, a2a_pb2_grpc
from google.protobuf.json_format import MessageToDict, ParseDict

from tests.support.calls import BINDINGS, Caller, all_of
from tests.support.cluster import Cluster
from tests.support.processes import free_port
from tests.support.push import Calls
from tests.support.results import CallError, Json
from tests.support.waiting import within

_CODES: Final = {
    grpc.StatusCode.NOT_FOUND: -32001,
    grpc.StatusCode.FAILED_PRECONDITION: -32004,
    grpc.StatusCode.INVALID_ARGUMENT: -32602,
}
_PATH: Final = "tasks/{taskId}/pushNotificationConfigs"
_REQUESTS: Final[dict[str, Callable[[], Any]]] = {
    "CreateTaskPushNotificationConfig": a2a_pb2.TaskPushNotificationConfig,
    "GetTaskPushNotificationConfig": a2a_pb2.GetTaskPushNotificationConfigRequest,
    "ListTaskPushNotificationConfigs": a2a_pb2.ListTaskPushNotificationConfigsRequest,
    "DeleteTaskPushNotificationConfig": a2a_pb2.DeleteTaskPushNotificationConfigRequest,
    "SendMessage": a2a_pb2.SendMessageRequest,
}


@dataclass(frozen=True, kw_only=True)
class GrpcCaller:
    """Version 1.0 over gRPC."""

    channel: Any
    token: str | None = None
    tenant: str = ""

    async def call(self, method: str, params: Json) -> Json:
        """Make a call of any method that answers at once; its result."""
        request = ParseDict({**params, "tenant": self.tenant}, _REQUESTS[method]())
        metadata = [("a2a-version", "1.0")]
        if self.token is not None:
            metadata.append(("authorization", f"Bearer {self.token}"))
        stub: Any = a2a_pb2_grpc.A2AServiceStub
        return await _answer(getattr(stub(self.channel), method)(request, metadata=metadata))


@dataclass(frozen=True, kw_only=True)
class OldRpcCaller:
    """Version 0.3 over JSON-RPC."""

    http: httpx.AsyncClient
    url: str

    async def call(self, method: str, params: Json) -> Json:
        """Make a call of any method that answers at once; its result."""
        if method == "SendMessage":
            answer = await self._rpc("message/send", _old_message(params))
            return {"task": answer}
        verb = {"Create": "set", "Get": "get", "List": "list", "Delete": "delete"}
        name = next(old for new, old in verb.items() if method.startswith(new))
        old: Json = {"id": params["taskId"], "pushNotificationConfigId": params.get("id")}
        if name == "set":
            config = {key: value for key, value in params.items() if key != "taskId"}
            old = {"taskId": params["taskId"], "pushNotificationConfig": config}
        elif name == "list":
            old = {"id": params["taskId"]}
        answer = await self._rpc(f"tasks/pushNotificationConfig/{name}", old)
        if name == "list":
            return {"configs": [_new_config(each) for each in answer]}
        return {} if answer is None else _new_config(answer)

    async def _rpc(self, method: str, params: Json) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        response = await self.http.post(f"{self.url}/", json=body)
        answer: Json = response.json()
        if "error" in answer:
            raise CallError.read(answer, response.status_code)
        return answer["result"]


@dataclass(frozen=True, kw_only=True)
class OldRestCaller:
    """Version 0.3 over REST."""

    http: httpx.AsyncClient
    url: str

    async def call(self, method: str, params: Json) -> Json:
        """Make a call of any method that answers at once; its result."""
        if method == "SendMessage":
            return await self._http("POST", "message:send", _old_request(params))
        path = _PATH.format(**params)
        if method.startswith("Create"):
            return _named(await self._http("POST", path, _old_create(params)))
        if method.startswith("List"):
            listed = await self._http("GET", path)
            return {"configs": [_named(each) for each in listed.get("configs", [])]}
        path = f"{path}/{params['id']}"
        if method.startswith("Delete"):
            return await self._http("DELETE", path)
        return _named(await self._http("GET", path))

    async def _http(self, verb: str, path: str, body: Json | None = None) -> Json:
        response = await self.http.request(verb, f"{self.url}/v1/{path}", json=body)
        answer: Json = response.json()
        if response.status_code >= 400:
            raise CallError.read(answer, response.status_code)
        return answer


@dataclass(frozen=True, kw_only=True)
class OldGrpcCaller:
    """Version 0.3 over gRPC."""

    channel: Any

    async def call(self, method: str, params: Json) -> Json:
        """Make a call of any method that answers at once; its result."""
        factory: Any = a2a_v0_3_pb2_grpc.A2AServiceStub
        stub = factory(self.channel)
        if method == "SendMessage":
            request = ParseDict(_old_request(params), v0_3.SendMessageRequest())
            return await _answer(stub.SendMessage(request))
        task = f"tasks/{params['taskId']}"
        if method.startswith("Create"):
            new = ParseDict(_old_create(params), v0_3.CreateTaskPushNotificationConfigRequest())
            new.config.push_notification_config.id = ""  # it stands beside the config as well
            return _named(await _answer(stub.CreateTaskPushNotificationConfig(new)))
        if method.startswith("List"):
            listed = v0_3.ListTaskPushNotificationConfigRequest(parent=task)
            answer = await _answer(stub.ListTaskPushNotificationConfig(listed))
            return {"configs": [_named(each) for each in answer.get("configs", [])]}
        name = f"{task}/pushNotificationConfigs/{params['id']}"
        if method.startswith("Delete"):
            gone = v0_3.DeleteTaskPushNotificationConfigRequest(name=name)
            return await _answer(stub.DeleteTaskPushNotificationConfig(gone))
        one = v0_3.GetTaskPushNotificationConfigRequest(name=name)
        return _named(await _answer(stub.GetTaskPushNotificationConfig(one)))


@dataclass(frozen=True, kw_only=True)
class Door:
    """One server and its gRPC channel: a caller for each binding of each version."""

    caller: Caller
    channel: Any

    def callers(self, token: str | None = None, *, tenant: str = "") -> dict[str, Calls]:
        """Callers of version 1.0."""
        caller = self.caller.as_user(token, tenant=tenant)
        return {
            **{binding: caller.over(binding) for binding in BINDINGS},
            "GRPC": GrpcCaller(channel=self.channel, token=token, tenant=tenant),
        }

    def old_callers(self) -> dict[str, Calls]:
        """Callers of version 0.3."""
        http, url = self.caller.http, self.caller.url
        return {
            "JSON-RPC 0.3": OldRpcCaller(http=http, url=url),
            "REST 0.3": OldRestCaller(http=http, url=url),
            "gRPC 0.3": OldGrpcCaller(channel=self.channel),
        }


@asynccontextmanager
async def new_door(cluster: Cluster, *options: str) -> AsyncGenerator[Door]:
    """Start a further server, with gRPC, and connect to it."""
    port = free_port()
    api = await cluster.add_api(*options, f"--grpc-port={port}")
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield Door(caller=Caller(http=cluster.http, url=api.url), channel=channel)


async def over_all(
    callers: Mapping[str, Calls], scenario: Callable[[Calls], Awaitable[None]]
) -> None:
    """Run a scenario with all callers at the same time."""

    async def over(name: str) -> None:
        try:
            await scenario(callers[name])
        except Exception as error:
            raise AssertionError(f"over {name}: {error}") from error

    await all_of(*(over(name) for name in callers))


async def _answer(call: Any) -> Json:
    try:
        response = await within(30, call)
    except grpc.aio.AioRpcError as error:
        raise CallError(
            code=_CODES.get(error.code(), 0),
            message=error.details() or "",
            status=0,
            body=f"{error.code().name} {error.details()}",
        ) from error
    return MessageToDict(response)


def _old_create(params: Json) -> Json:
    """Return the request of 0.3's protobuf."""
    config = {key: value for key, value in params.items() if key != "taskId"}
    task = f"tasks/{params['taskId']}"
    config_id = params.get("id", "")
    name = f"{task}/pushNotificationConfigs/{config_id}"
    return {
        "parent": task,
        "configId": config_id,
        "config": {"name": name, "pushNotificationConfig": config},
    }


def _old_message(params: Json) -> Json:
    """Return the parameters of `message/send`."""
    message = params["message"]
    config = params.get("configuration", {}).get("taskPushNotificationConfig")
    return {
        "message": {
            "kind": "message",
            "messageId": message["messageId"],
            "role": "user",
            "parts": [{"kind": "text", "text": part["text"]} for part in message["parts"]],
        },
        "configuration": {"blocking": True, "pushNotificationConfig": config},
    }


def _old_request(params: Json) -> Json:
    """Return the SendMessageRequest of 0.3's protobuf."""
    message = params["message"]
    config = params.get("configuration", {}).get("taskPushNotificationConfig")
    return {
        "message": {
            "messageId": message["messageId"],
            "role": "ROLE_USER",
            "content": [{"text": part["text"]} for part in message["parts"]],
        },
        "configuration": {"blocking": True, **({"pushNotification": config} if config else {})},
    }


def _new_config(old: Json) -> Json:
    return {**old["pushNotificationConfig"], "taskId": old["taskId"]}


def _named(old: Json) -> Json:
    return {**old["pushNotificationConfig"], "taskId": str(old["name"]).split("/")[1]}
