"""§3.6.2: Major.Minor decides, header or query parameter, absent means 0.3."""

from typing import Any

import grpc
import grpc.aio
import httpx
import pytest
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import GetTaskRequest

from a2a_temporal import create_app, create_grpc_server
from tests.support.calls import BINDINGS, REST, Caller, send_params
from tests.support.http_app import in_process
from tests.support.stub_handler import stub_app, stub_handler

VERSION_NOT_SUPPORTED = -32009


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("version", ["1.0", "1.0.3", " 1.0 "])
async def test_a_supported_version_is_served(binding: str, version: str) -> None:
    async with in_process(await stub_app()) as caller:
        assert not _refused(await _get_task(caller.over(binding), version))


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(
    "version", ["1.9", "1.7", "2.0", "99.0", "0.5", "abc", "1", "v1.0", "1.0; drop", "1.0.x"]
)
async def test_another_version_is_refused_by_its_minor_number_too(
    binding: str, version: str
) -> None:
    async with in_process(await stub_app()) as caller:
        response = await _get_task(caller.over(binding), version)
    assert _refused(response), response.text
    assert response.status_code == (400 if binding == REST else 200)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_no_version_means_0_3_which_has_no_such_method(binding: str) -> None:
    async with in_process(await stub_app()) as caller:
        assert _refused(await _get_task(caller.over(binding), ""))


async def test_the_query_parameter_counts_when_the_header_is_absent() -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "t"}}
    async with in_process(await stub_app()) as caller:
        good = await caller.http.post("/?A2A-Version=1.0", json=body)
        bad = await caller.http.post("/?A2A-Version=1.5", json=body)
        rest = await caller.http.get("/tasks/t?A2A-Version=1.0")
    assert "result" in good.json(), good.text
    assert bad.json()["error"]["code"] == VERSION_NOT_SUPPORTED
    assert rest.status_code == 200, rest.text


@pytest.mark.parametrize("headers", [{}, {"A2A-Version": "0.3"}, {"A2A-Version": ""}])
async def test_a_0_3_client_is_served_by_0_3_methods(headers: dict[str, str]) -> None:
    async with in_process(await stub_app()) as caller:
        response = await caller.http.post("/", json=_message_send(), headers=headers)
    assert response.json()["result"]["kind"] == "message", response.text


async def test_without_0_3_its_clients_are_told_the_version_is_not_supported() -> None:
    async with in_process(await stub_app(enable_v0_3=False)) as caller:
        absent = await _get_task(caller, "")
        named = await _get_task(caller, "0.3")
        served = await _get_task(caller, "1.0")
    assert _refused(absent)
    assert _refused(named)
    assert not _refused(served)


async def test_the_handler_sees_the_version_that_was_agreed_on() -> None:
    handler = await stub_handler()
    async with in_process(create_app(handler)) as caller:
        await caller.http.post(
            "/?A2A-Version=1.0",
            json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": send_params("x")},
        )
        await caller.http.post("/", json=_message_send())
    versions = [context.state["headers"]["a2a-version"] for context in handler.contexts]
    assert versions == ["1.0", "0.3"]


async def _get_task(caller: Caller, version: str) -> httpx.Response:
    headers = (("A2A-Version", version),)
    return await Caller(
        http=caller.http, url=caller.url, binding=caller.binding, headers=headers
    ).raw("GetTask", {"id": "t"})


def _refused(response: httpx.Response) -> bool:
    answer = response.json()
    if "error" not in answer:
        return False
    error = answer["error"]
    reasons = [detail.get("reason") for detail in error.get("details", error.get("data", []))]
    return "VERSION_NOT_SUPPORTED" in reasons or error["code"] == VERSION_NOT_SUPPORTED


def _message_send() -> dict[str, object]:
    message = {
        "messageId": "m1",
        "role": "user",
        "kind": "message",
        "parts": [{"kind": "text", "text": "hello"}],
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}


@pytest.mark.parametrize("binding", BINDINGS)
async def test_version_1_1_is_served_as_1_0_where_that_is_switched_on(binding: str) -> None:
    handler = await stub_handler()
    async with in_process(create_app(handler, enable_v1_1=True)) as caller:
        assert not _refused(await _get_task(caller.over(binding), "1.1"))
        assert not _refused(await _get_task(caller.over(binding), "1.1.4"))
        assert _refused(await _get_task(caller.over(binding), "1.2"))
    assert {each.state["headers"]["a2a-version"] for each in handler.contexts} == {"1.0"}


async def test_grpc_serves_version_1_1_where_that_is_switched_on() -> None:
    for enabled, expected in ((True, None), (False, grpc.StatusCode.FAILED_PRECONDITION)):
        server = create_grpc_server(await stub_handler(), enable_v1_1=enabled)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub: Any = a2a_pb2_grpc.A2AServiceStub(channel)
            call = stub.GetTask(GetTaskRequest(id="t"), metadata=(("a2a-version", "1.1"),))
            code = None
            try:
                await call
            except grpc.aio.AioRpcError as error:
                code = error.code()
        await server.stop(None)
        assert code == expected


@pytest.mark.parametrize("version", ["1.0", "1.0.2", "2.0", "abc"])
async def test_a_method_of_0_3_in_another_version_is_refused_as_such(version: str) -> None:
    async with in_process(await stub_app()) as caller:
        for method in ("message/send", "message/stream", "tasks/get", "tasks/resubscribe"):
            body = {**_message_send(), "method": method}
            response = await caller.http.post("/", json=body, headers={"A2A-Version": version})
            assert response.json()["error"]["code"] == VERSION_NOT_SUPPORTED, response.text
        rest = await caller.http.get("/v1/tasks/t", headers={"A2A-Version": version})
    assert rest.status_code == 400
    assert "VERSION_NOT_SUPPORTED" in rest.text
