"""A2A calls over JSON-RPC and REST, raw enough to see every byte the server sends."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import httpx

from tests.support.frames import Frame, Frames
from tests.support.results import CallError, Json
from tests.support.waiting import Bound

T = TypeVar("T")

JSONRPC: Final = "JSONRPC"
REST: Final = "HTTP+JSON"
BINDINGS: Final = (JSONRPC, REST)

_CALL_TIMEOUT = 90.0
_RETRY_AFTER = 0.5


@dataclass(frozen=True, kw_only=True)
class Caller:
    """One client of one server over one binding, as one user of one tenant.

    A temporary failure is answered by the same call again, as a client should, so that a slow
    machine fails no test; see :meth:`once`.
    """

    http: httpx.AsyncClient
    url: str
    binding: str = JSONRPC
    token: str | None = None
    tenant: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    patience: float = 30

    def once(self) -> "Caller":
        """Return the same caller, who makes each call only once."""
        return replace(self, patience=0)

    def over(self, binding: str) -> "Caller":
        """Return the same caller over another binding."""
        return replace(self, binding=binding)

    def as_user(self, token: str | None, *, tenant: str | None = None) -> "Caller":
        """Return the same caller as another user."""
        return replace(self, token=token, tenant=self.tenant if tenant is None else tenant)

    def with_headers(self, **headers: str) -> "Caller":
        """Return the same caller with further request headers (`_` stands for `-`)."""
        added = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        return replace(self, headers=self.headers + added)

    async def send(self, text: str = "", **options: Any) -> Json:
        """SendMessage; the answer as `{"task": ...}` or `{"message": ...}`. See `send_params`."""
        return await self._call("SendMessage", send_params(text, **options))

    async def send_task(self, text: str = "", **options: Any) -> Json:
        """SendMessage that is answered with a task."""
        answer = await self.send(text, **options)
        assert "task" in answer, answer
        task: Json = answer["task"]
        return task

    async def start(self, text: str = "", **options: Any) -> Json:
        """SendMessage that returns immediately; the task."""
        return await self.send_task(text, return_immediately=True, **options)

    async def get(self, task_id: str, *, history_length: int | None = None) -> Json:
        """GetTask."""
        params: Json = {"id": task_id}
        if history_length is not None:
            params["historyLength"] = history_length
        return await self._call("GetTask", params)

    async def list(self, **params: Any) -> Json:
        """ListTasks; the whole answer."""
        return await self._call("ListTasks", params)

    async def cancel(self, task_id: str) -> Json:
        """CancelTask."""
        return await self._call("CancelTask", {"id": task_id})

    async def extended_card(self) -> Json:
        """GetExtendedAgentCard."""
        return await self._call("GetExtendedAgentCard", {})

    @asynccontextmanager
    async def stream(self, text: str = "", **options: Any) -> AsyncGenerator[Frames]:
        """SendStreamingMessage; leaving the block closes the connection."""
        async with self._open("SendStreamingMessage", send_params(text, **options)) as frames:
            yield frames

    @asynccontextmanager
    async def subscribe(self, task_id: str) -> AsyncGenerator[Frames]:
        """SubscribeToTask; leaving the block closes the connection."""
        async with self._open("SubscribeToTask", {"id": task_id}) as frames:
            yield frames

    async def raw(self, method: str, params: Json) -> httpx.Response:
        """Make a call and return the HTTP response as it is."""
        return await self.http.send(self.request(method, params))

    async def call(self, method: str, params: Json) -> Json:
        """Make a call of any method that answers at once; its result."""
        return await self._call(method, params)

    async def _call(self, method: str, params: Json) -> Json:
        async def once() -> Json:
            return _result(self.binding, await self.raw(method, params))

        return await self._repeated(once)

    async def _repeated(self, call: Callable[[], Awaitable[T]]) -> T:
        bound = Bound(self.patience)
        while True:
            try:
                return await call()
            except CallError as error:
                if not (error.temporary and self.patience and bound.left):
                    raise
            await asyncio.sleep(_RETRY_AFTER)

    @asynccontextmanager
    async def _open(self, method: str, params: Json) -> AsyncGenerator[Frames]:
        response = await self._repeated(lambda: self._streaming(method, params))
        try:
            frames = Frames(response, _unwrap_jsonrpc if self.binding == JSONRPC else _as_is)
            try:
                yield frames
            finally:
                await frames.drop()
        finally:
            await response.aclose()

    async def _streaming(self, method: str, params: Json) -> httpx.Response:
        response = await self.http.send(self.request(method, params), stream=True)
        if response.headers["content-type"].startswith("text/event-stream"):
            return response
        await response.aread()
        await response.aclose()
        _result(self.binding, response)
        raise AssertionError(f"not a stream: {response.text}")

    def request(self, method: str, params: Json) -> httpx.Request:
        """Build the request of a call, to be sent in another way."""
        headers = {"A2A-Version": "1.0", **dict(self.headers)}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.binding == JSONRPC:
            if self.tenant:
                params = {**params, "tenant": self.tenant}
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return self.http.build_request("POST", f"{self.url}/", json=body, headers=headers)
        base = f"{self.url}/{self.tenant}" if self.tenant else self.url
        verb, path = _REST_PATHS[method]
        rest = {name: value for name, value in params.items() if f"{{{name}}}" not in path}
        return self.http.build_request(
            verb,
            base + path.format(**params),
            json=rest if verb == "POST" else None,
            params=rest if verb == "GET" else None,
            headers=headers,
        )


_CONFIGS = "/tasks/{taskId}/pushNotificationConfigs"

_REST_PATHS: Final = {
    "CreateTaskPushNotificationConfig": ("POST", _CONFIGS),
    "GetTaskPushNotificationConfig": ("GET", f"{_CONFIGS}/{{id}}"),
    "ListTaskPushNotificationConfigs": ("GET", _CONFIGS),
    "DeleteTaskPushNotificationConfig": ("DELETE", f"{_CONFIGS}/{{id}}"),
    "SendMessage": ("POST", "/message:send"),
    "SendStreamingMessage": ("POST", "/message:stream"),
    "GetTask": ("GET", "/tasks/{id}"),
    "ListTasks": ("GET", "/tasks"),
    "CancelTask": ("POST", "/tasks/{id}:cancel"),
    "SubscribeToTask": ("GET", "/tasks/{id}:subscribe"),
    "GetExtendedAgentCard": ("GET", "/extendedAgentCard"),
}


def send_params(
    text: str = "",
    *,
    parts: Sequence[Json] | None = None,
    task_id: str | None = None,
    context_id: str | None = None,
    message_id: str | None = None,
    return_immediately: bool | None = None,
    configuration: Json | None = None,
    metadata: Json | None = None,
) -> Json:
    """Build the parameters of SendMessage and SendStreamingMessage."""
    message: Json = {
        "messageId": message_id or str(uuid.uuid4()),
        "role": "ROLE_USER",
        "parts": list(parts) if parts is not None else [{"text": text}],
    }
    if task_id is not None:
        message["taskId"] = task_id
    if context_id is not None:
        message["contextId"] = context_id
    params: Json = {"message": message}
    settings = dict(configuration or {})
    if return_immediately is not None:
        settings["returnImmediately"] = return_immediately
    if settings:
        params["configuration"] = settings
    if metadata is not None:
        params["metadata"] = metadata
    return params


def http_client() -> httpx.AsyncClient:
    """Return an HTTP client that never gives up before the test does."""
    return httpx.AsyncClient(
        timeout=_CALL_TIMEOUT,
        verify=False,  # plain HTTP only: loading certificates would cost more than a test
        trust_env=False,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
    )


async def over_every_binding(caller: Caller, scenario: Callable[[Caller], Awaitable[None]]) -> None:
    """Run a scenario over JSON-RPC and over REST at the same time."""

    async def over(binding: str) -> None:
        try:
            await scenario(caller.over(binding))
        except Exception as error:
            raise AssertionError(f"over {binding}: {error}") from error

    await all_of(*(over(binding) for binding in BINDINGS))


async def all_of(*awaitables: Awaitable[Any]) -> list[Any]:
    """Await things at the same time; when one fails, wait for the others and raise it."""
    futures = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    if futures:
        await asyncio.wait(futures)
    failures = [error for future in futures if (error := future.exception()) is not None]
    if failures:
        raise failures[0]
    return [future.result() for future in futures]


async def refused(awaitable: Awaitable[Any], *, code: int, status: int | None = None) -> CallError:
    """Await a call that must be refused with a code, and return the refusal."""
    try:
        answer = await awaitable
    except CallError as refusal:
        error = refusal
    else:
        raise AssertionError(f"not refused with {code}, but answered: {answer}")
    assert error.code == code, error
    assert not error.in_stream, error
    assert status is None or error.status in (200, status), error
    return error


async def refused_to_open(opening: Any, *, code: int, status: int | None = None) -> CallError:
    """Open a stream that must be refused before it opens."""

    async def enter() -> list[Frame]:
        async with opening as frames:
            return [await frames.next()]

    return await refused(enter(), code=code, status=status)


def _unwrap_jsonrpc(frame: Frame) -> Frame:
    result: Frame = frame["result"]
    return result


def _as_is(frame: Frame) -> Frame:
    return frame


def _result(binding: str, response: httpx.Response) -> Json:
    try:
        answer: Json = response.json()
    except ValueError:
        raise CallError(
            code=0, message=response.text, status=response.status_code, body=response.text
        ) from None
    if response.status_code >= 400 or "error" in answer:
        raise CallError.read(answer, response.status_code)
    return _unwrap_jsonrpc(answer) if binding == JSONRPC else answer
