"""Who calls, by Starlette's authentication interface."""

from starlette.authentication import (
    AuthCredentials,
    AuthenticationBackend,
    AuthenticationError,
    BaseUser,
)
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response

from a2a_temporal._http.limits import path_within

# What everybody may read: the card says how to authenticate.
_OPEN = ("/.well-known/agent-card.json", "/.well-known/agent.json", "/healthz", "/readyz")
UNAUTHENTICATED = "The call is not authenticated. The agent card says what it needs."


def authenticating(backend: AuthenticationBackend) -> Middleware:
    """Return the middleware that asks a backend who calls, but for the card and the probes.

    A refused call is answered with 401; the text of the backend's error stays here.
    """
    return Middleware(
        AuthenticationMiddleware, backend=_OpenForCards(backend), on_error=_unauthenticated
    )


class _OpenForCards(AuthenticationBackend):
    def __init__(self, backend: AuthenticationBackend) -> None:
        self._backend = backend

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        if path_within(conn.scope) in _OPEN:
            return None
        return await self._backend.authenticate(conn)


def _unauthenticated(_: HTTPConnection, error: AuthenticationError) -> Response:
    return JSONResponse(
        {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": UNAUTHENTICATED}},
        status_code=401,
        headers={"WWW-Authenticate": "Bearer"},
    )
