"""Sign in through OpenID Connect, with Authlib. Needs the extra ``oidc``."""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

import httpx
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.integrations.starlette_client import OAuth, StarletteOAuth2App
from joserfc.errors import JoseError
from starlette.requests import Request
from starlette.responses import Response

from a2a_temporal._server.parked import Person
from a2a_temporal.inbox.authenticators import SignInError

_SIGNED_IN = "oidc"
_ANSWER_BYTES = 1024 * 1024
_ANSWER_SECONDS = 10.0


class _BoundedClient(AsyncOAuth2Client):
    """Asks the provider; an answer is not unpacked, and not read beyond a size and a time."""

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Send a request and read its answer.

        Raises:
            ValueError: The answer is compressed or too long.
            asyncio.TimeoutError: It takes too long.
        """
        request.headers["Accept-Encoding"] = "identity"

        async def answer() -> Any:
            return await _read(await send(self, request, stream=True, **options), request)

        send = cast("Any", AsyncOAuth2Client).send
        return await asyncio.wait_for(answer(), _ANSWER_SECONDS)


async def _read(answer: Any, request: Any) -> Any:
    """Return an answer with its content, as it came."""
    content = bytearray()
    try:
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise ValueError("The provider's answer is compressed, though none was asked for.")
        async for chunk in answer.aiter_raw():
            content.extend(chunk)
            if len(content) > _ANSWER_BYTES:
                raise ValueError(f"The provider's answer has more than {_ANSWER_BYTES} bytes.")
    finally:
        await answer.aclose()
    return type(answer)(
        answer.status_code, headers=answer.headers, content=bytes(content), request=request
    )


class _Provider(StarletteOAuth2App):
    client_cls = _BoundedClient


class OpenIdConnect:
    """The authorization code flow with PKCE; names and groups come from the ID token.

    The provider must know ``<public URL of the inbox>/sign-in/callback`` as a redirect URI.

    Args:
        issuer: The provider; its metadata is read from ``/.well-known/openid-configuration``.
        client_id: Of the inbox, at the provider.
        client_secret: Likewise; empty for a public client.
        name_claim: The claim that names people as approvers are named. Take one that people cannot
            choose for themselves.
        groups_claim: The claim that lists groups; empty for none.
        scopes: What is asked for.
        lifetime: People are asked again after this long.
    """

    def __init__(
        self,
        *,
        issuer: str,
        client_id: str,
        client_secret: str = "",
        name_claim: str = "email",
        groups_claim: str = "groups",
        scopes: Sequence[str] = ("openid", "profile", "email"),
        lifetime: timedelta = timedelta(hours=8),
    ) -> None:
        self._name_claim = name_claim
        self._groups_claim = groups_claim
        self._lifetime = lifetime
        self._provider: Any = OAuth().register(
            name="provider",
            client_cls=_Provider,
            client_id=client_id,
            client_secret=client_secret or None,
            server_metadata_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
            client_kwargs={
                "scope": " ".join(scopes),
                "code_challenge_method": "S256",
                "token_endpoint_auth_method": ("client_secret_basic" if client_secret else "none"),
            },
        )

    async def authenticate(self, request: Request) -> Person | None:
        """Return who signed in, while it is not too long ago."""
        kept = request.session.get(_SIGNED_IN)
        if not isinstance(kept, dict):
            return None
        fields = cast("dict[str, Any]", kept)
        if float(fields.get("until", 0)) < time.time():
            return None
        groups = tuple(str(each) for each in fields.get("groups", []))
        return Person(str(fields["name"]), groups, verified=True)

    async def begin(self, request: Request, callback: str) -> Response:
        """Send the browser to the provider."""
        try:
            redirect: Response = await self._provider.authorize_redirect(request, callback)
        except (httpx.HTTPError, OAuthError, ValueError, asyncio.TimeoutError) as error:
            raise SignInError("The sign-in provider does not answer just now.") from error
        return redirect

    async def finish(self, request: Request) -> None:
        """Exchange the code, check the ID token, and keep name and groups."""
        try:
            token: dict[str, Any] = await self._provider.authorize_access_token(request)
        except OAuthError as error:
            raise SignInError(f"The sign-in did not work: {error.error}.") from error
        except (httpx.HTTPError, JoseError, ValueError, KeyError, asyncio.TimeoutError) as error:
            raise SignInError("The answer of the sign-in provider cannot be used.") from error
        claims: dict[str, Any] = dict(token.get("userinfo") or {})
        name = claims.get(self._name_claim)
        if not isinstance(name, str) or not name:
            raise SignInError(f"The provider did not say who you are ({self._name_claim!r}).")
        if self._name_claim == "email" and claims.get("email_verified") is False:
            raise SignInError("Your e-mail address is not verified at the provider.")
        given: Any = claims.get(self._groups_claim) if self._groups_claim else None
        groups = cast("list[Any]", given) if isinstance(given, list) else []
        # What the flow kept in the session has served its purpose.
        request.session.clear()
        request.session[_SIGNED_IN] = {
            "name": name,
            "groups": [str(each) for each in groups],
            "until": time.time() + self._lifetime.total_seconds(),
        }
