"""How many values a gRPC request holds is known before it is unpacked."""

import time
from collections.abc import AsyncGenerator
from typing import Any, cast

import grpc.aio
import pytest
import pytest_asyncio
from a2a.compat.v0_3 import a2a_v0_3_pb2, a2a_v0_3_pb2_grpc
from a2a.types import Message, Part, SendMessageRequest, a2a_pb2_grpc

from a2a_temporal import HandlerOptions, create_grpc_server
from tests.support.stub_handler import stub_handler

MOST = HandlerOptions().maximum_message_values
VERSION = (("a2a-version", "1.0"),)


@pytest_asyncio.fixture
async def channel() -> AsyncGenerator[grpc.aio.Channel]:
    server = create_grpc_server(await stub_handler())
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        await server.stop(None)


def _request(text: str, values: int) -> SendMessageRequest:
    request = SendMessageRequest(
        message=Message(message_id="m", role="ROLE_USER", parts=[Part(text=text)])
    )
    request.message.metadata.update({"list": [1.0] * values})
    return request


async def test_a_request_of_too_many_values_is_refused(channel: grpc.aio.Channel) -> None:
    stub: Any = a2a_pb2_grpc.A2AServiceStub(channel)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub.SendMessage(_request("a", MOST), metadata=VERSION)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "HandlerOptions.maximum_message_values" in (refused.value.details() or "")


async def test_a_request_of_0_3_with_too_many_values_is_refused(channel: grpc.aio.Channel) -> None:
    stub: Any = a2a_v0_3_pb2_grpc.A2AServiceStub(channel)
    message = a2a_v0_3_pb2.Message(message_id="m", role=a2a_v0_3_pb2.Role.ROLE_USER)
    message.metadata.update({"list": [1.0] * MOST})
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub.SendMessage(a2a_v0_3_pb2.SendMessageRequest(request=message))
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


async def test_a_large_text_and_nearly_as_many_values_are_taken(channel: grpc.aio.Channel) -> None:
    stub: Any = a2a_pb2_grpc.A2AServiceStub(channel)
    answer = await stub.SendMessage(_request("\n" * 1_000_000, MOST - 3), metadata=VERSION)
    assert answer.message.parts[0].text == "\n" * 1_000_000


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"\x12\x00" * 1_000_000, id="one field over and over"),
        pytest.param(b"\x12" + b"\xff" * 1_000_000, id="a length that never ends"),
        pytest.param(b"\x12\x7f" + b"\x2a\x00" * 200_000, id="lengths that do not fit"),
        pytest.param(b"\x0b" * 1_000_000, id="groups"),
    ],
)
async def test_bytes_that_are_no_message_are_refused_soon(
    channel: grpc.aio.Channel, request_bytes: bytes
) -> None:
    send: Any = cast("Any", channel).unary_unary("/lf.a2a.v1.A2AService/SendMessage")
    began = time.process_time()
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await send(request_bytes, metadata=VERSION)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert time.process_time() - began < 2
