"""A temporary failure is told apart from a bug, in the terms of each binding (section 3.3.2)."""

from contextlib import AsyncExitStack
from typing import Any

import grpc.aio
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2, a2a_v0_3_pb2_grpc
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import GetTaskRequest, SubscribeToTaskRequest

from a2a_temporal import create_grpc_server
from tests.support.calls import BINDINGS, JSONRPC, send_params
from tests.support.http_app import in_process
from tests.support.stub_handler import stub_app, stub_handler

CALLS = [
    ("SendMessage", send_params("unavailable")),
    ("SendStreamingMessage", send_params("unavailable")),
    ("SubscribeToTask", {"id": "unavailable"}),
    ("GetTask", {"id": "unavailable"}),
]


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(("method", "params"), CALLS)
async def test_a_temporary_failure_asks_for_another_try(
    binding: str, method: str, params: dict[str, object]
) -> None:
    async with in_process(await stub_app()) as caller:
        response = await caller.over(binding).raw(method, params)
    assert "Please try again" in response.text
    assert "SERVICE_UNAVAILABLE" in response.text
    if binding == JSONRPC:
        assert (response.status_code, response.json()["error"]["code"]) == (200, -32603)
    else:
        assert (response.status_code, response.json()["error"]["code"]) == (503, 503)
        assert response.json()["error"]["status"] == "UNAVAILABLE"
        assert int(response.headers["Retry-After"]) > 0


@pytest.mark.parametrize("path", ["/v1/tasks/unavailable", "/v1/tasks/unavailable:subscribe"])
async def test_a_0_3_client_is_asked_too(path: str) -> None:
    async with in_process(await stub_app()) as caller:
        response = await caller.http.get(path)
    assert response.status_code == 503
    assert int(response.headers["Retry-After"]) > 0


async def test_grpc_says_unavailable_in_both_versions() -> None:
    server = create_grpc_server(await stub_handler())
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.stop, None)
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{port}"))
        new = a2a_pb2_grpc.A2AServiceStub(channel)
        old = a2a_v0_3_pb2_grpc.A2AServiceStub(channel)
        version = (("a2a-version", "1.0"),)
        calls: list[Any] = [
            new.GetTask(GetTaskRequest(id="unavailable"), metadata=version),
            new.SubscribeToTask(SubscribeToTaskRequest(id="unavailable"), metadata=version).read(),
            old.GetTask(a2a_v0_3_pb2.GetTaskRequest(name="tasks/unavailable")),
        ]
        for call in calls:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
            assert "Please try again" in str(caught.value.details())
