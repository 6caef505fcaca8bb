"""A body over the limit is refused with 413 before it is in memory."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.support.calls import BINDINGS, send_params
from tests.support.http_app import in_process
from tests.support.serving import served
from tests.support.stub_handler import stub_app

LIMIT = 10_000
VERSION = {"A2A-Version": "1.0"}


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_body_that_declares_too_much_is_refused(binding: str) -> None:
    async with in_process(await stub_app(max_body_bytes=LIMIT)) as caller:
        response = await caller.over(binding).raw("SendMessage", send_params("x" * LIMIT))
        small = await caller.over(binding).raw("SendMessage", send_params("x" * (LIMIT // 2)))
    assert response.status_code == 413
    assert str(LIMIT) in response.json()["error"]["message"]
    assert small.status_code == 200, small.text


@pytest.mark.parametrize("path", ["/", "/message:send", "/message:stream", "/v1/message:send"])
async def test_a_body_of_unknown_length_is_refused_when_the_limit_is_passed(path: str) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1000
            yield b" " * 1000

    async with in_process(await stub_app(max_body_bytes=LIMIT)) as caller:
        response = await caller.http.post(path, content=endless(), headers=VERSION)
    assert response.status_code == 413
    assert read <= LIMIT + 2000


async def test_a_client_that_sends_before_it_reads_learns_why_it_was_refused() -> None:
    body = b"x" * (500 * LIMIT)  # more than the buffers of a connection hold
    async with (
        served(await stub_app(max_body_bytes=LIMIT)) as url,
        httpx.AsyncClient(trust_env=False, timeout=20) as http,
    ):
        response = await http.post(f"{url}/", content=body, headers=VERSION)
    assert response.status_code == 413
    assert str(LIMIT) in response.json()["error"]["message"]


async def test_a_body_of_exactly_the_limit_is_accepted() -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": send_params("x")}
    data = json.dumps(body).encode()
    async with in_process(await stub_app(max_body_bytes=len(data))) as caller:
        response = await caller.http.post("/", content=data, headers=VERSION)
        longer = await caller.http.post("/", content=data + b" ", headers=VERSION)
    assert response.status_code == 200
    assert longer.status_code == 413
