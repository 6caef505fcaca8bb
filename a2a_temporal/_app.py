"""The ASGI application of a server: agent card, JSON-RPC, REST and probes around one handler.

request → body limit → your middleware → 413 → route → operation → handler
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence

from a2a.server.jsonrpc_models import InvalidRequestError
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.common import ServerCallContextBuilder
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount

from a2a_temporal._http.calls import CallContextBuilder
from a2a_temporal._http.cards import PublicCard
from a2a_temporal._http.exchange import Exchange
from a2a_temporal._http.limits import BodyLimit, BodyRefusal
from a2a_temporal._http.readiness import Health, start
from a2a_temporal._http.streams import EventStreams
from a2a_temporal._http.v0_3 import V03
from a2a_temporal._http.v1_0 import Operations
from a2a_temporal._server.handler import TemporalRequestHandler

DEFAULT_MAX_BODY_BYTES = 10 * 1024 * 1024

_FIRST_START_SECONDS = 3.0
_SETTLE_SECONDS = 0.2


def create_app(
    handler: TemporalRequestHandler,
    *,
    middleware: Sequence[Middleware] = (),
    context_builder: ServerCallContextBuilder | None = None,
    routes: Sequence[BaseRoute] = (),
    rpc_path: str = "/",
    rest_prefix: str = "",
    enable_v0_3: bool = True,
    enable_v1_1: bool = False,
    ping_seconds: float = 3,
    trust_forwarded: bool = False,
    cache_control: str | None = "public, max-age=60",
    max_body_bytes: int = DEFAULT_MAX_BODY_BYTES,
) -> Starlette:
    """Build the application that serves a handler over JSON-RPC and REST.

    Its lifespan starts and closes the handler. Temporal need not be up: the card is served, and
    ``/readyz`` says no, until it is. When the process is told to stop, open streams end without a
    terminal event and clients resubscribe at another replica.

    It may be mounted into another app, which runs no lifespan but its own: the first call then
    starts the handler, and the end of a uvicorn process is seen all the same.

    Args:
        handler: The handler; its card is served at both well-known paths.
        middleware: Starlette middleware, for example one that authenticates.
        context_builder: Makes the user and tenant of a call; the SDK's builder when None.
        routes: Your own routes. Routes that are added to the app later are never reached.
        rpc_path: Path of the JSON-RPC endpoint.
        rest_prefix: Path under which the REST routes stand.
        enable_v0_3: Serve the methods of protocol version 0.3 as well.
        enable_v1_1: Serve a call that says version 1.1 as one of 1.0; otherwise it is refused.
        ping_seconds: A silent stream gets a comment line this often; the official client gives up
            after 5 s of silence.
        trust_forwarded: Take the URLs in the cards from the X-Forwarded-Proto, -Host, -Port and
            -Prefix headers. Only behind a proxy that sets or removes them.
        cache_control: Cache-Control of the card; None sends none.
        max_body_bytes: A larger request body is answered with 413.
    """
    streams = EventStreams(
        ping_seconds=ping_seconds,
        write_timeout=handler.options.stream_write_timeout.total_seconds(),
        at_stop=handler.aclose,
    )
    builder = CallContextBuilder(context_builder, enable_v0_3=enable_v0_3, enable_v1_1=enable_v1_1)
    card = PublicCard(
        handler.agent_card,
        enable_v0_3=enable_v0_3,
        trust_forwarded=trust_forwarded,
        cache_control=cache_control,
        signer=handler.options.card_signer,
    )
    exchange = Exchange(streams, handler.agent_card, handler.options.maximum_message_values)
    operations = Operations(handler, builder, streams, card)
    v0_3 = V03(handler, builder, exchange, card) if enable_v0_3 else None
    rest = [*(v0_3.rest() if v0_3 else ()), *operations.rest(exchange)]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        tried = asyncio.Event()
        starting = asyncio.create_task(start(handler, tried))
        # With Temporal up, the first request finds the handler started; without it, nobody waits.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(tried.wait(), _FIRST_START_SECONDS)
        try:
            with streams.call():
                yield
        finally:
            streams.close()
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            await handler.aclose()
            # Long polls were cancelled: their native threads need a moment before the process may
            # end, or it hangs in the end of the interpreter.
            await asyncio.sleep(_SETTLE_SECONDS)

    refuse = _refusal(rpc_path, max_body_bytes)
    app = Starlette(
        routes=[
            *card.routes(),
            *Health(handler.client).routes(),
            operations.json_rpc(exchange, rpc_path, v0_3.answer if v0_3 else None),
            *routes,
            # Last, as the path of a tenant takes every longer one.
            *([Mount(rest_prefix, routes=rest)] if rest_prefix else rest),
        ],
        middleware=[
            Middleware(BodyLimit, max_bytes=max_body_bytes, refuse=refuse),
            *middleware,
            Middleware(BodyRefusal, max_bytes=max_body_bytes, refuse=refuse),
        ],
        lifespan=lifespan,
    )
    app.state.event_streams = streams
    return app


def _refusal(rpc_path: str, max_bytes: int) -> Callable[[str], Response]:
    text = f"The request body is larger than {max_bytes} bytes"

    def refuse(path: str) -> Response:
        content = (
            build_error_response(None, InvalidRequestError(message=text))
            if path == rpc_path
            else {"error": {"code": 413, "status": "INVALID_ARGUMENT", "message": text}}
        )
        return JSONResponse(content, status_code=413, headers={"Connection": "close"})

    return refuse
