"""Who calls is said once, by Starlette's interface, for HTTP and gRPC."""

from typing import Any

import grpc.aio
import pytest
from a2a.types import GetTaskRequest, SubscribeToTaskRequest, a2a_pb2_grpc
from starlette.applications import Starlette
from starlette.authentication import (
    AuthCredentials,
    AuthenticationBackend,
    AuthenticationError,
    BaseUser,
    SimpleUser,
)
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.routing import Mount

from a2a_temporal import Agent, create_grpc_server
from tests.support.calls import BINDINGS
from tests.support.http_app import in_process
from tests.support.in_process import CARD, Scripted
from tests.support.stub_handler import SECRET, stub_handler


class Tokens(AuthenticationBackend):
    """Knows one user; a call without a token is anonymous."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        token = conn.headers.get("authorization")
        if token is None:
            return None
        if token == "Bearer broken":
            raise RuntimeError(SECRET)
        if token != "Bearer ann":
            raise AuthenticationError(SECRET)
        return AuthCredentials(["authenticated"]), SimpleUser("ann")


AGENT = Agent(card=CARD, executor=Scripted(), authentication=Tokens())


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_call_is_its_users_and_a_wrong_token_is_refused(binding: str) -> None:
    handler = await stub_handler()
    async with in_process(AGENT.app(handler)) as caller:
        await caller.over(binding).as_user("ann").get("t")
        await caller.over(binding).get("t")
        refused = await caller.over(binding).as_user("eve").raw("GetTask", {"id": "t"})
    assert [context.user.user_name for context in handler.contexts] == ["ann", ""]
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert SECRET not in refused.text


async def test_a_browser_may_read_that_the_backend_has_failed() -> None:
    anywhere = Middleware(CORSMiddleware, allow_origins=["*"])
    app = AGENT.app(await stub_handler(), middleware=[anywhere])
    async with in_process(app) as caller:
        broken = caller.as_user("broken").with_headers(Origin="http://page")
        failed = await broken.raw("GetTask", {"id": "t"})
    assert failed.status_code == 500
    assert failed.headers["access-control-allow-origin"] == "*"
    assert failed.json()["error"]["status"] == "INTERNAL"
    assert SECRET not in failed.text


async def test_the_card_and_the_probes_are_open_to_everybody() -> None:
    async with in_process(AGENT.app(await stub_handler())) as caller:
        for path in ("/.well-known/agent-card.json", "/healthz"):
            response = await caller.http.get(path, headers={"Authorization": "Bearer eve"})
            assert response.status_code == 200


@pytest.mark.parametrize("name", ["healthz", "readyz"])
async def test_a_path_that_ends_as_an_open_one_is_not_open(name: str) -> None:
    handler = await stub_handler()
    eve = {"Authorization": "Bearer eve", "A2A-Version": "1.0"}
    closed = (
        f"/tasks/{name}",
        f"/tasks/t/pushNotificationConfigs/{name}",
        f"/tenant/tasks/{name}",
        f"/v1/tasks/{name}",
        f"/nowhere/{name}",
        "/nowhere/.well-known/agent-card.json",
    )
    async with in_process(AGENT.app(handler)) as caller:
        for path in closed:
            assert (await caller.http.get(path, headers=eve)).status_code == 401, path
    assert not handler.contexts


@pytest.mark.parametrize("host", ["x/healthz?", "x/healthz#", "x/.well-known/agent.json?a="])
async def test_a_host_header_opens_nothing(host: str) -> None:
    handler = await stub_handler()
    eve = {"Authorization": "Bearer eve", "A2A-Version": "1.0", "Host": host}
    async with in_process(AGENT.app(handler)) as caller:
        assert (await caller.http.get("/tasks/t", headers=eve)).status_code == 401
    assert not handler.contexts


async def test_the_card_and_the_probes_of_a_mounted_app_are_open() -> None:
    mounted = Mount("/agents/reports", AGENT.app(await stub_handler()))
    async with in_process(Starlette(routes=[mounted])) as caller:
        for path in ("/.well-known/agent-card.json", "/healthz", "/tasks/t"):
            response = await caller.http.get(
                f"/agents/reports{path}",
                headers={"Authorization": "Bearer eve", "A2A-Version": "1.0"},
            )
            assert response.status_code == (401 if path == "/tasks/t" else 200)


async def test_grpc_asks_the_same_backend() -> None:
    handler = await stub_handler()
    server = create_grpc_server(handler, authentication=AGENT.authentication)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub: Any = a2a_pb2_grpc.A2AServiceStub(channel)
            await stub.GetTask(GetTaskRequest(id="t"), metadata=_metadata("ann"))
            await stub.GetTask(GetTaskRequest(id="t"), metadata=_metadata(None))
            assert [context.user.user_name for context in handler.contexts] == ["ann", ""]
            refusals = {
                "eve": grpc.StatusCode.UNAUTHENTICATED,
                "broken": grpc.StatusCode.INTERNAL,
            }
            for token, status in refusals.items():
                subscribing = stub.SubscribeToTask(
                    SubscribeToTaskRequest(id="t"), metadata=_metadata(token)
                )
                getting = stub.GetTask(GetTaskRequest(id="t"), metadata=_metadata(token))
                for call in (getting, subscribing.read()):
                    with pytest.raises(grpc.aio.AioRpcError) as caught:
                        await call
                    assert caught.value.code() == status
                    assert SECRET not in str(caught.value.details())
    finally:
        await server.stop(None)


def _metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    version = ("a2a-version", "1.0")
    return (version, ("authorization", f"Bearer {token}")) if token else (version,)
