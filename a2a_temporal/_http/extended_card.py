"""The extended card over HTTP: its URLs, and the answer to who is not logged in.

A2A 1.0 section 13.3 wants callers of it authenticated, and HTTP has an answer for all others.
"""

from typing import Any, cast

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.types import AgentCard, GetExtendedAgentCardRequest
from a2a.utils.errors import A2AError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from a2a_temporal._http.cards import PublicCard
from a2a_temporal._server.errors import masked_handler

_METHODS = ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard")
_PATHS = ("/extendedAgentCard", "/v1/card")


def showing(handler: RequestHandler, public: PublicCard) -> RequestHandler:
    """Return a masked handler whose extended card names the URLs and versions of the public one.

    Args:
        handler: Serves the calls.
        public: Knows how a card is shown.
    """

    async def shown(params: GetExtendedAgentCardRequest, context: ServerCallContext) -> AgentCard:
        card = await handler.on_get_extended_agent_card(params, context)
        headers: dict[str, str] = context.state.get("headers", {})
        return public.shown(card, Headers(headers))

    return masked_handler(handler, on_get_extended_agent_card=shown)


def refuse_anonymous(
    request: Request, path: str, builder: ServerCallContextBuilder
) -> Response | None:
    """Return the refusal of a caller who wants the extended card and is nobody; else None.

    Args:
        request: Its JSON has been read, where that says which method is called.
        path: Of the route that it took.
        builder: Knows who calls.
    """
    if not _is_asked_for(request, path):
        return None
    try:
        user = builder.build(request).user
    except A2AError:
        return None  # the dispatcher meets the same error, and answers it
    if user.is_authenticated:
        return None
    return JSONResponse(
        {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "Authenticate first."}},
        status_code=401,
        headers={"WWW-Authenticate": "Bearer"},
    )


def _is_asked_for(request: Request, path: str) -> bool:
    if path in _PATHS:
        return True
    body = getattr(request.state, "json", None)
    return isinstance(body, dict) and cast("dict[str, Any]", body).get("method") in _METHODS
