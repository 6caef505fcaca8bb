"""A proxy that sends each request to the next server, so that no two about a task meet one."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

_OF_ONE_HOP: Final = ("host", "connection", "content-length", "transfer-encoding", "keep-alive")
_METHODS: Final = ["GET", "POST", "PUT", "DELETE"]


def round_robin(upstreams: Sequence[str], *, prefix: str = "") -> Starlette:
    """Build the proxy; a server that cannot be reached is passed over.

    Args:
        upstreams: URLs of the servers.
        prefix: Stands before every path out here, and is told to the servers, as are scheme and
            host, by X-Forwarded headers.
    """
    order = itertools.cycle(upstreams)
    http = httpx.AsyncClient(
        timeout=None, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
    )

    async def forward(request: Request) -> Response:
        body = await request.body()
        for _ in upstreams:
            url = next(order) + request.url.path.removeprefix(prefix)
            sent = http.build_request(
                request.method,
                url,
                params=httpx.QueryParams(request.url.query),
                headers=[*_kept(request.headers.items()), *_forwarded(request, prefix)],
                content=body,
            )
            try:
                answer = await http.send(sent, stream=True)
            except httpx.ConnectError:
                continue
            headers = dict(_kept(answer.headers.items()))
            return StreamingResponse(_passed_on(answer), answer.status_code, headers)
        return PlainTextResponse("no server can be reached", 503)

    return Starlette(routes=[Route(f"{prefix}/{{path:path}}", forward, methods=_METHODS)])


def _kept(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers if name.lower() not in _OF_ONE_HOP]


def _forwarded(request: Request, prefix: str) -> list[tuple[str, str]]:
    return [
        ("X-Forwarded-Proto", request.url.scheme),
        ("X-Forwarded-Host", request.url.netloc),
        ("X-Forwarded-Prefix", prefix),
    ]


async def _passed_on(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            yield chunk
    finally:
        await answer.aclose()
