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

from a2a_temporal._log.names import normal
from a2a_temporal._server.waiting import Person
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
        client_secret: The same; empty for a public client.
        name_claim: The claim that names people as approvers are named. Take one that people cannot
            choose for themselves.
        groups_claim: The claim that lists groups; empty for none.
        unverified_email: Believe an e-mail address that the provider does not call verified. By
            default a name from the claim ``email`` counts only with ``email_verified: true``.
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
        unverified_email: bool = False,
        scopes: Sequence[str] = ("openid", "profile", "email"),
        lifetime: timedelta = timedelta(hours=8),
    ) -> None:
        self._name_claim = name_claim
        self._groups_claim = groups_claim
        self._unverified_email = unverified_email
        self._client_id = client_id
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
            # The issuer and the audience have to be there; Authlib looks at an audience only then.
            metadata: dict[str, Any] = await self._provider.load_server_metadata()
            token: dict[str, Any] = await self._provider.authorize_access_token(
                request,
                claims_options={
                    "iss": {"essential": True, "values": [metadata.get("issuer")]},
                    "aud": {"essential": True, "values": [self._client_id]},
                },
            )
        except OAuthError as error:
            raise SignInError(f"The sign-in did not work: {error.error}.") from error
        except (
            httpx.HTTPError,
            JoseError,
            ValueError,
            KeyError,
            TypeError,
            asyncio.TimeoutError,
        ) as error:
            raise SignInError("The answer of the sign-in provider cannot be used.") from error
        claims: dict[str, Any] = dict(token.get("userinfo") or {})
        name = _name_in(claims, self._name_claim)
        if not _is_name(claims.get("sub")):
            raise SignInError("The provider did not say who you are ('sub').")
        if self._name_claim == "email" and not self._unverified_email:
            _check_verified(claims)
        groups = _groups_in(claims, self._groups_claim) if self._groups_claim else []
        # What the flow kept in the session has served its purpose.
        request.session.clear()
        request.session[_SIGNED_IN] = {
            "name": name,
            "groups": groups,
            "until": time.time() + self._lifetime.total_seconds(),
        }


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(normal(value))


def _name_in(claims: dict[str, Any], claim: str) -> str:
    name = claims.get(claim)
    if not _is_name(name):
        raise SignInError(f"The provider did not say who you are ({claim!r}).")
    return cast("str", name)


def _check_verified(claims: dict[str, Any]) -> None:
    """Let nobody in by an address that they may only have typed.

    Only JSON's ``true`` counts: some providers write texts such as "false".
    """
    if claims.get("email_verified") is not True:
        raise SignInError(
            "Your e-mail address is not verified at the provider (email_verified is not true)."
        )


def _groups_in(claims: dict[str, Any], claim: str) -> list[str]:
    """Return the groups; a claim that is there and no list of names is not taken for none."""
    given: Any = claims.get(claim)
    groups = cast("list[Any]", [] if given is None else given)
    if not isinstance(given, (list, type(None))) or not all(map(_is_name, groups)):
        raise SignInError(f"What the provider says of your groups ({claim!r}) is no list of names.")
    return groups
