"""A client that leaves in the middle of its request is no error of the server."""

import asyncio
import logging

import pytest
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response

from tests.support.serving import served
from tests.support.stub_handler import stub_app
from tests.support.waiting import eventually


class _Plain(BaseHTTPMiddleware):
    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        return await call_next(request)


@pytest.mark.parametrize("middleware", [[], [Middleware(_Plain)]])
@pytest.mark.parametrize("path", ["/", "/message:send", "/v1/message:stream"])
async def test_it_is_one_line_of_debugging(
    path: str, middleware: list[Middleware], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="a2a_temporal")
    async with served(await stub_app(middleware=middleware)) as url:
        host, port = url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Length: 100\r\n"
        writer.write(f"{head}\r\n{{".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

        def noted() -> list[logging.LogRecord]:
            return [each for each in caplog.records if "client left" in each.getMessage()]

        await eventually(noted, within=30, what="the line")
    assert [each.levelname for each in noted()] == ["DEBUG"]
    loud = [each for each in caplog.records if each.levelno >= logging.ERROR or each.exc_info]
    assert not loud, loud
