"""Ask who wants the extended card to log in (A2A 1.0 section 13.3): HTTP has an answer for that."""

from typing import Any, cast

from a2a.server.routes.common import ServerCallContextBuilder
from a2a.utils.errors import A2AError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

_METHODS = ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard")
_PATHS = ("/extendedAgentCard", "/v1/card")


def refuse_anonymous(request: Request, builder: ServerCallContextBuilder) -> Response | None:
    """Return the refusal of a caller who wants the extended card and is nobody; else None."""
    if not _is_asked_for(request):
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


def _is_asked_for(request: Request) -> bool:
    if request.method == "GET":
        return request.url.path.endswith(_PATHS)
    body = getattr(request.state, "json", None)
    return isinstance(body, dict) and cast("dict[str, Any]", body).get("method") in _METHODS
