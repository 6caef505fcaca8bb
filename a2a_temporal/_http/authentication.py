"""Who calls, by Starlette's authentication interface."""

from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import A2AError
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
from a2a_temporal._server.errors import internal_error

# What everybody may read: the card says how to authenticate.
_OPEN = ("/.well-known/agent-card.json", "/.well-known/agent.json", "/healthz", "/readyz")
UNAUTHENTICATED = "The call is not authenticated. The agent card says what it needs."


def authenticating(backend: AuthenticationBackend) -> Middleware:
    """Return the middleware that asks a backend who calls, but for the card and the probes.

    A refused call is answered with 401, and one that makes the backend fail as any unexpected
    error; the text of the backend's error stays here.
    """
    return Middleware(AuthenticationMiddleware, backend=_OpenForCards(backend), on_error=_refused)


class _FailedError(AuthenticationError):
    """The backend has failed; whether the call is authenticated is not known."""


class _OpenForCards(AuthenticationBackend):
    def __init__(self, backend: AuthenticationBackend) -> None:
        self._backend = backend

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        if path_within(conn.scope) in _OPEN:
            return None
        try:
            return await self._backend.authenticate(conn)
        except AuthenticationError:
            raise
        except Exception as error:
            raise _FailedError from internal_error(error, where="authentication")


def _refused(_: HTTPConnection, error: AuthenticationError) -> Response:
    if isinstance(error, _FailedError) and isinstance(error.__cause__, A2AError):
        failed = build_rest_error_payload(error.__cause__)
        return JSONResponse(failed, status_code=failed["error"]["code"])
    return unauthenticated(UNAUTHENTICATED)


def unauthenticated(text: str) -> Response:
    """Return the answer of HTTP to a call whose caller is not known."""
    return JSONResponse(
        {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": text}},
        status_code=401,
        headers={"WWW-Authenticate": "Bearer"},
    )
