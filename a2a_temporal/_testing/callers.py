"""Who calls in a test: a user's name and groups in headers that the test app believes."""

import json
from collections.abc import Iterable
from dataclasses import replace

from a2a.server.context import ServerCallContext
from starlette.authentication import (
    AuthCredentials,
    AuthenticationBackend,
    BaseUser,
    SimpleUser,
)
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection

from a2a_temporal._server.options import HandlerOptions

_USER, _GROUPS = "x-test-user", "x-test-groups"


def headers_of(name: str, groups: Iterable[str]) -> dict[str, str]:
    """Return the headers that make a request this user's; an empty name is the anonymous one."""
    if not name:
        return {}
    return {_USER: json.dumps(name), _GROUPS: json.dumps(sorted(groups))}


def believing(options: HandlerOptions | None) -> HandlerOptions:
    """Return handler options that take groups from the test headers, besides their own source."""
    given = options or HandlerOptions()

    def groups(call_context: ServerCallContext) -> frozenset[str]:
        headers: dict[str, str] = call_context.state.get("headers", {})
        return given.groups_of(call_context) | frozenset(json.loads(headers.get(_GROUPS, "[]")))

    return replace(given, groups_of=groups)


def middleware() -> Middleware:
    """Return the middleware that believes the test headers."""
    return Middleware(AuthenticationMiddleware, backend=_Believing())


class _Believing(AuthenticationBackend):
    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        name = conn.headers.get(_USER)
        if name is None:
            return None
        return AuthCredentials(["authenticated"]), SimpleUser(json.loads(name))
