"""A call whose client leaves before the answer ends; what it was about to write it may finish."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from a2a_temporal import create_app
from a2a_temporal._http import exchange
from tests.support.calls import send_params
from tests.support.serving import served
from tests.support.stub_handler import stub_handler
from tests.support.waiting import eventually, within

Body = dict[str, Any]


def _v1(text: str) -> Body:
    return {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": send_params(text)}


def _v0_3(text: str) -> Body:
    message = {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": text}]}
    return {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}


def _v0_3_rest(text: str) -> Body:
    return {"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": text}]}}


SENDS = [
    pytest.param("/", _v1, "1.0", id="JSON-RPC"),
    pytest.param("/message:send", send_params, "1.0", id="REST"),
    pytest.param("/a-tenant/message:send", send_params, "1.0", id="REST of a tenant"),
    pytest.param("/", _v0_3, "0.3", id="JSON-RPC 0.3"),
    pytest.param("/v1/message:send", _v0_3_rest, "0.3", id="REST 0.3"),
]


@contextlib.asynccontextmanager
async def begun(
    handler: Any, url: str, body: Body, version: str = "1.0"
) -> AsyncGenerator["asyncio.Task[httpx.Response]"]:
    """Send a message, and have the handler wait; afterwards the client is gone."""
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        sending = asyncio.create_task(http.post(url, json=body, headers={"A2A-Version": version}))
        try:
            await eventually(lambda: handler.waiting == 1, within=10, what="the call")
            yield sending
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)


@pytest.mark.parametrize(("path", "body", "version"), SENDS)
async def test_nothing_waits_for_a_client_that_has_left(
    path: str, body: Any, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_SECONDS_TO_FINISH", 0.2)
    handler = await stub_handler()
    async with served(create_app(handler)) as url:
        async with begun(handler, url + path, body("silent"), version):
            pass
        await eventually(lambda: handler.waiting == 0, within=5, what="the end of the call")
    assert handler.finished == 0


async def test_what_a_call_was_writing_when_its_client_left_is_finished() -> None:
    handler = await stub_handler()
    async with served(create_app(handler)) as url:
        async with begun(handler, url, _v1("slow")):
            pass
        handler.gate.set()
        await eventually(lambda: handler.finished == 1, within=5, what="the end of the call")


async def test_a_client_that_stays_gets_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_SECONDS_TO_FINISH", 0.0)
    handler = await stub_handler()
    async with served(create_app(handler)) as url, begun(handler, url, _v1("slow")) as sending:
        handler.gate.set()
        answer = await within(10, sending)
    assert "result" in answer.json()


class _Plain(BaseHTTPMiddleware):
    """Passes a request on, as Starlette's middleware with one method does."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        return await call_next(request)


class _ShowingAgain:
    """Reads the body of a request, and shows it for ever to whoever reads on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        body = await Request(scope, receive).body()

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return await self._app(scope, again, send)


@pytest.mark.parametrize("middleware", [_Plain, _ShowingAgain])
async def test_middleware_of_every_kind_gets_answers_through(middleware: Any) -> None:
    handler = await stub_handler()
    app = create_app(handler, middleware=[Middleware(middleware)])
    async with served(app) as url, begun(handler, url, _v1("slow")) as sending:
        handler.gate.set()
        answer = await within(10, sending)
    assert "result" in answer.json()


async def test_behind_starlettes_middleware_a_call_ends_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchange, "_SECONDS_TO_FINISH", 0.2)
    handler = await stub_handler()
    async with served(create_app(handler, middleware=[Middleware(_Plain)])) as url:
        async with begun(handler, url, _v1("silent")):
            pass
        await eventually(lambda: handler.waiting == 0, within=5, what="the end of the call")
