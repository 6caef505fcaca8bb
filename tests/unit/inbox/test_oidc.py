"""Signing in through OpenID Connect, against a small provider on a real socket."""

import gzip
import secrets
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
import pytest_asyncio
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from temporalio.client import Client

from a2a_temporal.inbox import create_inbox
from a2a_temporal.inbox.oidc import OpenIdConnect
from tests.support.inbox import ORIGIN, Page, Visitor
from tests.support.serving import served

LONG = b"{" + b" " * 4_000_000 + b"}"
PACKED = gzip.compress(gzip.compress(LONG))
ANN = {"email": "ann@example.com", "email_verified": True}


class Provider:
    """Signs everybody in as ``claims`` say, without a password."""

    def __init__(self) -> None:
        self.key: Any = RSAKey.generate_key(2048)
        self.url = ""
        self.claims: dict[str, Any] = {
            "email": "ann@example.com",
            "email_verified": True,
            "groups": ["finance", "board"],
        }
        self.audience = "the-inbox"
        self.signing_key: Any = self.key
        self.instead: dict[str, Response] = {}
        self._asked: dict[str, dict[str, str]] = {}

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                self._route("/.well-known/openid-configuration", self._metadata),
                self._route("/authorize", self._authorize),
                self._route("/token", self._token),
                self._route("/jwks", self._jwks),
            ]
        )

    def _route(self, path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
        async def answer(request: Request) -> Response:
            return self.instead.get(path) or await endpoint(request)

        return Route(path, answer, methods=["GET", "POST"])

    async def _metadata(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/jwks",
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        self._asked[code] = asked
        query = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{query}")

    async def _token(self, request: Request) -> Response:
        fields = parse_qs((await request.body()).decode())
        asked = self._asked.pop(fields["code"][0])
        assert fields["code_verifier"]
        now = int(time.time())
        claims = {"iss": self.url, "sub": "1", "aud": self.audience, "iat": now, "exp": now + 60}
        token = jwt.encode(
            {"alg": "RS256", "kid": self.key.thumbprint()},
            claims | {"nonce": asked["nonce"]} | self.claims,
            self.signing_key,
        )
        return JSONResponse({"access_token": "a", "token_type": "Bearer", "id_token": token})

    async def _jwks(self, _: Request) -> Response:
        key: dict[str, Any] = {**self.key.as_dict(private=False), "kid": self.key.thumbprint()}
        return JSONResponse({"keys": [key]})


@pytest_asyncio.fixture
async def provider() -> AsyncIterator[Provider]:
    provider = Provider()
    async with served(provider.app()) as url:
        provider.url = url
        yield provider


async def signed_in(provider: Provider, visitor: Visitor, address: str = "/tasks/x") -> Page:
    """Go the way of a browser: to the provider, and back."""
    begun = await visitor.http.get(f"/sign-in/begin?next={address}", follow_redirects=False)
    assert begun.status_code == 302
    assert len(begun.headers["set-cookie"]) <= 4096
    async with httpx.AsyncClient() as outside:
        back = (await outside.get(begun.headers["location"])).headers["location"]
    assert back.startswith(f"{ORIGIN}/sign-in/callback?")
    parts = urlsplit(back)
    return await visitor.get(f"{parts.path}?{parts.query}")


async def inbox_of(provider: Provider, **options: Any) -> Starlette:
    client = await Client.connect("127.0.0.1:1", lazy=True)
    options = {"issuer": provider.url, "client_id": "the-inbox"} | options
    return create_inbox(client, authenticator=OpenIdConnect(**options))


async def test_people_come_back_signed_in_to_where_they_were(provider: Provider) -> None:
    async with Visitor(await inbox_of(provider, client_secret="s3cret")) as visitor:
        page = await visitor.get("/tasks/x")
        assert any(link.startswith("/sign-in/begin") for link in page.links)
        page = await signed_in(provider, visitor)
        assert page.path == "/tasks/x"
        assert page.status == 503  # Temporal is away, but the person is known
        assert "ann@example.com" in page.text
        assert "Sign in" in (await visitor.send(page.forms[0])).text


async def test_a_token_for_somebody_else_or_with_another_signature_is_refused(
    provider: Provider,
) -> None:
    wrong: list[tuple[str, Any]] = [
        ("audience", "another-app"),
        ("signing_key", RSAKey.generate_key(2048)),
        ("claims", ANN | {"nonce": "of another sign-in"}),
        ("claims", ANN | {"azp": "the-inbox", "aud": "another-app"}),
        ("claims", ANN | {"iss": "https://another.example"}),
        ("claims", ANN | {"sub": ""}),
        ("claims", ANN | {"sub": 7}),
        *(("claims", ANN | {"email": name}) for name in ("", " ", "\u200b", 7, ["ann"], None)),
        *(("claims", ANN | {"groups": some}) for some in ("finance", {"a": 1}, [7], [""], False)),
    ]
    for attribute, value in wrong:
        good = getattr(provider, attribute)
        setattr(provider, attribute, value)
        async with Visitor(await inbox_of(provider)) as visitor:
            page = await signed_in(provider, visitor)
            assert page.status == 401, (attribute, value)
            assert "Sign in" in (await visitor.get("/")).text
        setattr(provider, attribute, good)


@pytest.mark.parametrize("verified", [False, "false", "true", 1, None, [], {"true": True}])
async def test_an_address_counts_only_with_a_true_that_it_is_verified(
    provider: Provider, verified: Any
) -> None:
    provider.claims["email_verified"] = verified
    async with Visitor(await inbox_of(provider)) as visitor:
        page = await signed_in(provider, visitor)
        assert (page.status, "not verified at the provider" in page.text) == (401, True)
    async with Visitor(await inbox_of(provider, unverified_email=True)) as visitor:
        assert "ann@example.com" in (await signed_in(provider, visitor)).text


async def test_an_address_of_which_nothing_is_said_is_not_verified(provider: Provider) -> None:
    del provider.claims["email_verified"]
    async with Visitor(await inbox_of(provider)) as visitor:
        assert (await signed_in(provider, visitor)).status == 401


async def test_a_callback_that_nobody_began_is_refused(provider: Provider) -> None:
    async with Visitor(await inbox_of(provider)) as visitor:
        page = await visitor.get("/sign-in/callback?code=stolen&state=made-up")
        assert page.status == 401


async def test_a_provider_that_is_away_is_said_to_be(provider: Provider) -> None:
    async with Visitor(await inbox_of(provider, issuer="http://127.0.0.1:1")) as visitor:
        page = await visitor.get("/sign-in/begin")
        assert page.status == 503
        assert "does not answer" in page.text


async def test_more_groups_than_a_cookie_holds_are_refused_in_words(provider: Provider) -> None:
    cookies: list[str] = []

    async def note(response: httpx.Response) -> None:
        cookies.extend(response.headers.get_list("set-cookie"))

    async with Visitor(await inbox_of(provider)) as visitor:
        visitor.http.event_hooks = {"response": [note]}
        for number, kept in ((20, True), (1000, False)):
            provider.claims["groups"] = [str(uuid.uuid4()) for _ in range(number)]
            page = await signed_in(provider, visitor)
            assert ("ann@example.com" in page.text) is kept
            assert ("more than browsers keep in a cookie" in page.text) is not kept
            assert (page.status == 401) is not kept
        assert "Sign in" in (await visitor.get("/")).text
    assert max(len(cookie) for cookie in cookies) <= 4096


async def test_people_who_come_from_a_very_long_address_are_signed_in(provider: Provider) -> None:
    async with Visitor(await inbox_of(provider)) as visitor:
        address = "/tasks/" + "".join(str(uuid.uuid4()) for _ in range(150))
        page = await signed_in(provider, visitor, address)
        assert "ann@example.com" in page.text


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/.well-known/openid-configuration", PACKED, {"content-encoding": "gzip, gzip"}),
        ("/.well-known/openid-configuration", LONG, {}),
        ("/token", PACKED, {"content-encoding": "gzip, gzip"}),
        ("/jwks", PACKED, {"content-encoding": "gzip"}),
    ],
    ids=["packed metadata", "long metadata", "packed token", "packed keys"],
)
async def test_an_answer_that_would_unpack_to_more_is_not_read(
    provider: Provider, path: str, body: bytes, headers: dict[str, str]
) -> None:
    provider.instead = {path: Response(body, headers=headers, media_type="application/json")}
    async with Visitor(await inbox_of(provider)) as visitor:
        if path.startswith("/.well-known"):
            page = await visitor.get("/sign-in/begin")
            assert page.status == 503
        else:
            page = await signed_in(provider, visitor)
            assert page.status == 401
            assert "cannot be used" in page.text
