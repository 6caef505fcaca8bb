"""Who is calling: three bearer tokens, each the name of its user."""

from dataclasses import dataclass
from typing import Final

import grpc.aio
from a2a.auth.user import User
from a2a.server.request_handlers.grpc_handler import DefaultGrpcServerCallContextBuilder
from starlette.authentication import (
    AuthCredentials,
    AuthenticationBackend,
    AuthenticationError,
    BaseUser,
    SimpleUser,
)
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response

USERS: Final = frozenset({"alice", "bob", "carol"})


class BearerNames(AuthenticationBackend):
    """A known token is its user's name; none is the anonymous user; any other is refused."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        """Read the Authorization header."""
        header = conn.headers.get("authorization")
        if header is None:
            return None
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or token.strip() not in USERS:
            raise AuthenticationError("unknown bearer token")
        return AuthCredentials(["authenticated", "tasks"]), SimpleUser(token.strip())


@dataclass(frozen=True)
class _Named(User):
    name: str

    @property
    def is_authenticated(self) -> bool:
        return bool(self.name)

    @property
    def user_name(self) -> str:
        return self.name


class GrpcBearerNames(DefaultGrpcServerCallContextBuilder):
    """The same for gRPC, by the metadata `authorization`; an unknown token is nobody."""

    def build_user(self, context: "grpc.aio.ServicerContext[object, object]") -> User:
        """Read the metadata."""
        metadata = dict(context.invocation_metadata() or ())
        token = str(metadata.get("authorization", "")).removeprefix("Bearer ")
        return _Named(token if token in USERS else "")


def _refuse(_: HTTPConnection, error: Exception) -> Response:
    return JSONResponse(
        {"error": str(error)}, status_code=401, headers={"WWW-Authenticate": "Bearer"}
    )


def bearer_names() -> Middleware:
    """Return the middleware that tells the users apart."""
    return Middleware(AuthenticationMiddleware, backend=BearerNames(), on_error=_refuse)
