"""Sessions: a dict in a signed cookie, with the token that protects forms from other sites."""

import re
import secrets
import time
from datetime import timedelta
from typing import Any, cast

from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "a2a_inbox"
_FORM_TOKEN = "form"
_ID = "id"
_FITS = "session_fits"
_END = "session_end"
_MOST_ENDED = 100_000
# Browsers drop a longer cookie without a word.
_LARGEST_COOKIE = 4096

SHORTEST_SECRET = 16
_FEWEST_DIFFERENT = 6
_PLACEHOLDER = re.compile(
    r"(change|replace).?(me|this)|your.?(secret|token)|example", re.IGNORECASE
)


class Sessions:
    """Puts ``session`` into the scope, and the cookie into the response when it has changed.

    The cookie is signed, not encrypted: it holds names and fingerprints, never a credential.

    Args:
        app: The application.
        secret: Signs the cookie; processes that share sessions share it.
        lifetime: After it people sign in again.
        secure: Always mark the cookie as for HTTPS only; else only when the request came by it.
    """

    def __init__(self, app: ASGIApp, *, secret: str, lifetime: timedelta, secure: bool) -> None:
        self._app = app
        self._lifetime = int(lifetime.total_seconds())
        self._secure = secure
        self._serializer = URLSafeTimedSerializer(secret, salt="a2a-temporal.inbox")
        # Session id → when its last cookie has run out; in the order of ending.
        self._ended: dict[str, float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request with its session."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        session = self._read(HTTPConnection(scope).cookies.get(COOKIE, ""))
        session_id = str(session.get(_ID, ""))
        before = dict(session)
        scope["session"] = session
        scope[_FITS] = lambda: len(self._cookie(scope, session)) <= _LARGEST_COOKIE
        scope[_END] = lambda: self._end(session_id)

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and session != before:
                MutableHeaders(scope=message).append("Set-Cookie", self._cookie(scope, session))
            await send(message)

        await self._app(scope, receive, send_with_cookie)

    def _read(self, cookie: str) -> dict[str, Any]:
        try:
            value = self._serializer.loads(cookie, max_age=self._lifetime)
        except BadSignature:
            return {}
        if not isinstance(value, dict):
            return {}
        session = cast("dict[str, Any]", value)
        return {} if str(session.get(_ID, "")) in self._ended else session

    def _end(self, session_id: str) -> None:
        """Accept no cookie of a session any more."""
        now = time.monotonic()
        while self._ended and (
            next(iter(self._ended.values())) < now or len(self._ended) >= _MOST_ENDED
        ):
            del self._ended[next(iter(self._ended))]
        if session_id:
            self._ended[session_id] = now + self._lifetime + 1

    def _cookie(self, scope: Scope, session: dict[str, Any]) -> str:
        if session:
            session.setdefault(_ID, secrets.token_urlsafe(16))
        value = self._serializer.dumps(session) if session else ""
        value = value.decode() if isinstance(value, bytes) else value
        secure = "; Secure" if self._secure or scope.get("scheme") == "https" else ""
        return (
            f"{COOKIE}={value}; Path={scope.get('root_path') or '/'}; HttpOnly; SameSite=Lax"
            f"; Max-Age={self._lifetime if session else 0}{secure}"
        )


def form_token(request: Request) -> str:
    """Return the token that forms of this session carry."""
    session = request.session
    token = session.get(_FORM_TOKEN)
    if not isinstance(token, str):
        token = session[_FORM_TOKEN] = secrets.token_urlsafe(24)
    return token


def is_own_form(request: Request, token: str) -> bool:
    """Say whether a form that was posted is one that this session got from us."""
    expected = request.session.get(_FORM_TOKEN)
    return isinstance(expected, str) and secrets.compare_digest(
        expected.encode(), token.encode("utf-8", "surrogatepass")
    )


def fits(request: Request) -> bool:
    """Say whether browsers will keep this session, with the token that its forms are to carry."""
    form_token(request)
    return bool(request.scope[_FITS]())


def renew(request: Request) -> None:
    """Begin a new session in the place of the old one: at sign-in and sign-out."""
    request.session.clear()


def end(request: Request) -> None:
    """End the session: this process accepts no copy of its cookie any more."""
    request.scope[_END]()
    renew(request)


def is_guessable(secret: str) -> bool:
    """Say whether somebody may guess a secret, or has read it in a public file."""
    return (
        len(secret) < SHORTEST_SECRET
        or len(set(secret)) < _FEWEST_DIFFERENT
        or _PLACEHOLDER.search(secret) is not None
    )
