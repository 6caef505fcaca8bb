"""What the app refuses before any route still goes through the user's middleware."""

from collections.abc import AsyncIterator

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount

from tests.support.calls import BINDINGS, send_params
from tests.support.http_app import in_process
from tests.support.stub_handler import stub_app

LIMIT = 1000
CORS = Middleware(CORSMiddleware, allow_origins=["https://browser.example"])
ORIGIN = {"Origin": "https://browser.example", "A2A-Version": "1.0"}


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield b" " * LIMIT


async def test_a_browser_may_read_that_its_body_was_too_large() -> None:
    async with in_process(await stub_app(max_body_bytes=LIMIT, middleware=[CORS])) as caller:
        for path in ("/", "/message:send", "/v1/message:send"):
            declared = await caller.http.post(path, content=b" " * 2 * LIMIT, headers=ORIGIN)
            unknown = await caller.http.post(path, content=endless(), headers=ORIGIN)
            for answer in (declared, unknown):
                assert answer.status_code == 413
                allowed = answer.headers["access-control-allow-origin"]
                assert allowed == ORIGIN["Origin"]


@pytest.mark.parametrize("path", ["/nowhere/at/all/really", "/readyz", "/tasks/boom"])
async def test_a_browser_may_read_every_other_refusal(path: str) -> None:
    async with in_process(await stub_app(middleware=[CORS])) as caller:
        answer = await caller.http.get(path, headers=ORIGIN)
    assert answer.status_code >= 400
    assert answer.headers["access-control-allow-origin"] == ORIGIN["Origin"]


class _Reading(BaseHTTPMiddleware):
    """Reads each body, as middleware that checks signatures does."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        await request.body()
        return await call_next(request)


async def test_middleware_that_reads_bodies_reads_no_more_than_the_limit() -> None:
    app = await stub_app(max_body_bytes=LIMIT, middleware=[Middleware(_Reading)])
    async with in_process(app) as caller:
        assert (await caller.http.post("/", content=endless())).status_code == 413
        assert (await caller.http.post("/", content=b" " * 2 * LIMIT)).status_code == 413
        assert (await caller.raw("SendMessage", send_params("x"))).status_code == 200


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_mounted_app_refuses_in_the_words_of_the_binding(binding: str) -> None:
    app = Starlette(routes=[Mount("/agent", app=await stub_app(max_body_bytes=LIMIT))])
    async with in_process(app) as caller:
        there = type(caller)(http=caller.http, url=f"{caller.url}/agent", binding=binding)
        answer = await there.raw("SendMessage", send_params("x" * LIMIT))
    assert answer.status_code == 413
    assert ("jsonrpc" in answer.json()) == (binding == BINDINGS[0])
