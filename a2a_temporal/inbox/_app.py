"""Put the inbox together: sessions, headers, limits, pages.

request → headers → body limit → session → who is it? → page → approvals → Temporal
"""

import contextlib
import hashlib
import secrets
from collections.abc import AsyncGenerator
from datetime import timedelta
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from temporalio.client import Client

from a2a_temporal._http.limits import BodyLimit
from a2a_temporal._http.readiness import Health
from a2a_temporal._server.approvals import Approvals
from a2a_temporal.inbox._answers import MAX_BODY_BYTES
from a2a_temporal.inbox._pages import Pages
from a2a_temporal.inbox._rendering import new_environment
from a2a_temporal.inbox._sessions import SHORTEST_SECRET, Sessions, is_guessable
from a2a_temporal.inbox._sign_in import SignIn
from a2a_temporal.inbox._views import Settings, Views
from a2a_temporal.inbox.authenticators import Authenticator

_STATIC = Path(str(files("a2a_temporal.inbox") / "static"))


def create_inbox(
    client: Client,
    *,
    authenticator: Authenticator,
    secret: str = "",
    temporal_ui: str = "",
    public_url: str = "",
    title: str = "Inbox",
    page_size: int = 25,
    session_lifetime: timedelta = timedelta(hours=12),
) -> Starlette:
    """Build the inbox; mount it under any prefix, or serve it alone.

    Only probes, static files and the sign-in page answer without a user.

    Args:
        client: Connected (or lazy) Temporal client.
        authenticator: Says who is looking.
        secret: Signs session cookies. Give all processes of an inbox the same long random text; by
            default each makes up its own, and sessions end with it.
        temporal_ui: Base URL of the Temporal UI, for links to workflows; no links when empty.
        public_url: The URL people use, when a proxy stands in front: forms posted from elsewhere
            are refused.
        title: Shown on top.
        page_size: Tasks a page.
        session_lifetime: After it people sign in again.

    Raises:
        ValueError: An argument is not usable.
    """
    if secret and is_guessable(secret):
        raise ValueError(
            f"secret must be a random text of at least {SHORTEST_SECRET} characters, and none out "
            "of an example. Make one: openssl rand -hex 32"
        )
    if not 1 <= page_size <= 200:
        raise ValueError(f"page_size must be between 1 and 200, got {page_size!r}.")
    for name, url in (("temporal_ui", temporal_ui), ("public_url", public_url)):
        if url and not url.startswith(("http://", "https://")):
            raise ValueError(f"{name} must begin with http:// or https://, got {url!r}.")
    approvals = Approvals(client)
    environment = new_environment(assets=_fingerprint())
    settings = Settings(title, temporal_ui, public_url, page_size)
    views = Views(environment, authenticator, settings, client.namespace)
    pages = Pages(approvals, authenticator, views, settings)
    sign_in = SignIn(views, authenticator, approvals, public_url)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await approvals.aclose()

    app = Starlette(
        routes=[
            *Health(client).routes(),
            Mount("/static", StaticFiles(directory=_STATIC)),
            Route("/", pages.for_person(pages.inbox)),
            Route("/version/inbox", pages.for_person(pages.inbox_version, in_background=True)),
            Route(
                "/version/tasks/{task_id:path}",
                pages.for_person(pages.task_version, in_background=True),
            ),
            Route("/files/{artifact:int}/{task_id:path}/{part:int}", pages.for_person(pages.file)),
            Route("/tasks/{task_id:path}", pages.for_person(pages.task), methods=["GET"]),
            Route("/tasks/{task_id:path}", pages.for_person(pages.answer), methods=["POST"]),
            Route("/sign-in", sign_in.page, methods=["GET"]),
            Route("/sign-in", sign_in.sign_in, methods=["POST"]),
            Route("/sign-in/begin", sign_in.begin),
            Route("/sign-in/callback", sign_in.callback),
            Route("/sign-out", sign_in.sign_out, methods=["POST"]),
        ],
        middleware=[
            Middleware(_SecurityHeaders),
            Middleware(BodyLimit, max_bytes=MAX_BODY_BYTES, refuse=_too_large),
            Middleware(
                Sessions,
                secret=secret or secrets.token_urlsafe(32),
                lifetime=session_lifetime,
                secure=public_url.startswith("https://"),
            ),
        ],
        lifespan=lifespan,
    )
    app.state.approvals = approvals
    return app


def _too_large(_: str) -> Response:
    return PlainTextResponse(
        f"That is more than {MAX_BODY_BYTES // 1000} KB. Go back: your browser has kept the text. "
        "Then shorten it, or attach it elsewhere and write where it is.",
        413,
    )


def _fingerprint() -> str:
    """Return what changes when a static file does, so that browsers may keep them."""
    digest = hashlib.sha256()
    for each in sorted(_STATIC.iterdir()):
        digest.update(each.read_bytes())
    return digest.hexdigest()[:12]


_CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)

_HEADERS = {
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: with it browsers send "Origin: null" with forms, which is checked.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}

# Their addresses change with their content.
_CACHED = "public, max-age=604800"


class _SecurityHeaders:
    """Adds the headers, and forbids caches to keep what the endpoint does not allow them to.

    Args:
        app: The application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        is_static = scope["path"].startswith(f"{scope.get('root_path', '')}/static/")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", _CACHED if is_static else "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers)
