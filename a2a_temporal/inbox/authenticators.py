"""Who is looking at the inbox: the interface, and the authenticators that need no other package.

OpenID Connect is in :mod:`a2a_temporal.inbox.oidc`.
"""

import hashlib
import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from starlette.requests import Request
from starlette.responses import Response

from a2a_temporal._log.names import normal
from a2a_temporal._server.waiting import Person
from a2a_temporal.inbox._sessions import SHORTEST_SECRET, is_guessable

_SIGNED_IN = "token"
_CLAIMED = "claimed"
# How the headers begin that proxies, tunnels and load balancers add.
_FORWARDED = (
    "akamai-",
    "cdn-",
    "cf-",
    "client-ip",
    "fastly-",
    "forwarded",
    "ngrok-",
    "tailscale-",
    "true-client-",
    "via",
    "x-amz-cf-",
    "x-amzn-",
    "x-appengine-",
    "x-arr-",
    "x-azure-",
    "x-client-",
    "x-cloud-trace-",
    "x-cluster-client-",
    "x-envoy-",
    "x-forwarded",
    "x-goog-",
    "x-host",
    "x-original-",
    "x-originating-",
    "x-proxy",
    "x-real-",
    "x-remote-",
    "x-scheme",
    "x-vercel-",
)


class Authenticator(Protocol):
    """Tells who sent a request."""

    async def authenticate(self, request: Request) -> Person | None:
        """Return the person, or ``None`` when nobody is signed in.

        ``request.session`` is a dict that is kept in a signed cookie.
        """
        ...


async def who(authenticator: Authenticator, request: Request) -> Person | None:
    """Ask an authenticator; somebody without a name is nobody, whose answers say nothing."""
    person = await authenticator.authenticate(request)
    return person if person is not None and person.name.strip() else None


@dataclass(frozen=True)
class SignInField:
    """One input of the sign-in page."""

    name: str
    label: str
    secret: bool = False
    hint: str = ""


class SignInError(Exception):
    """Signing in failed; the text is shown to the person."""


@runtime_checkable
class FormSignIn(Protocol):
    """An authenticator with a form of its own on the sign-in page."""

    @property
    def fields(self) -> Sequence[SignInField]:
        """The inputs of the form."""
        ...

    async def sign_in(self, request: Request, values: Mapping[str, str]) -> None:
        """Note in ``request.session`` who this is.

        Raises:
            SignInError: It is nobody we know.
        """
        ...


@runtime_checkable
class RedirectSignIn(Protocol):
    """An authenticator that sends people elsewhere to sign in."""

    async def begin(self, request: Request, callback: str) -> Response:
        """Return the redirect to the place where people sign in."""
        ...

    async def finish(self, request: Request) -> None:
        """Read what that place sent back, and note in ``request.session`` who this is.

        Raises:
            SignInError: It is nobody we know.
        """
        ...


class BearerTokens:
    """Fixed tokens: in the ``Authorization`` header, or typed once into the sign-in page.

    Args:
        people: Token → person. A person is marked as verified unless it says otherwise.
    """

    fields: Sequence[SignInField] = (SignInField("token", "Access token", secret=True),)

    def __init__(self, people: Mapping[str, Person]) -> None:
        if any(map(is_guessable, people)):
            raise ValueError(
                f"Bearer tokens need at least {SHORTEST_SECRET} random characters, and none out of "
                "an example. Make one: openssl rand -hex 32"
            )
        if any(not normal(each.name) for each in people.values()):
            raise ValueError("A token has no name: its answers would be recorded as nobody's.")
        self._people = {
            _fingerprint(token): Person(
                each.name, each.groups, verified=True, operator=each.operator, tenant=each.tenant
            )
            for token, each in people.items()
        }

    @staticmethod
    def from_file(path: Path) -> "BearerTokens":
        """Read tokens from a JSON file: ``{"<token>": {"name": "ann", "groups": ["finance"]}}``.

        Raises:
            ValueError: The file is not of that shape.
        """
        try:
            people = cast("dict[str, dict[str, Any]]", json.loads(path.read_text("utf-8")))
            return BearerTokens({token: _person(each) for token, each in people.items()})
        except (OSError, TypeError, KeyError, AttributeError, ValueError) as error:
            raise ValueError(
                f"{path} is no file of tokens such as "
                f'{{"<token>": {{"name": "ann", "groups": ["finance"]}}}}: {error}'
            ) from error

    async def authenticate(self, request: Request) -> Person | None:
        """Look the token up; a header wins over the session."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._people.get(_fingerprint(token.strip()))
        return self._people.get(str(request.session.get(_SIGNED_IN, "")))

    async def sign_in(self, request: Request, values: Mapping[str, str]) -> None:
        """Keep the fingerprint of a known token in the session."""
        fingerprint = _fingerprint(values.get("token", "").strip())
        if fingerprint not in self._people:
            raise SignInError("That token is not known here.")
        request.session[_SIGNED_IN] = fingerprint


class ProxyHeaders:
    """Names in headers that an authenticating reverse proxy sets.

    They count only on connections that come from the proxy itself. The server must not rewrite
    client addresses (uvicorn: ``proxy_headers=False``), and the proxy must drop these headers from
    what its own clients send.

    Args:
        trusted: Addresses or networks of the proxies: ``["10.0.3.7", "10.1.0.0/16"]``.
        user_header: Carries the name.
        groups_header: Carries the groups, separated by commas.
    """

    def __init__(
        self,
        trusted: Sequence[str],
        *,
        user_header: str = "X-Forwarded-User",
        groups_header: str = "X-Forwarded-Groups",
    ) -> None:
        if not trusted:
            raise ValueError("ProxyHeaders needs the addresses of the proxies it trusts.")
        self._trusted = [ipaddress.ip_network(each, strict=False) for each in trusted]
        self._user_header = user_header
        self._groups_header = groups_header

    async def authenticate(self, request: Request) -> Person | None:
        """Believe the headers when the proxy sent them."""
        names = [each.strip() for each in request.headers.getlist(self._user_header)]
        if len(names) != 1 or not normal(names[0]) or not self._from_proxy(request):
            return None
        given = request.headers.getlist(self._groups_header)
        groups = [group.strip() for each in given for group in each.split(",")]
        return Person(names[0], tuple(group for group in groups if group), verified=True)

    def _from_proxy(self, request: Request) -> bool:
        address = _address(request)
        return address is not None and any(address in network for network in self._trusted)


class Anonymous:
    """Anybody at this machine, under the name they give: for a laptop, never for a server.

    Answers only requests that come from the loopback interface, name it as their host, and passed
    no proxy. Names are recorded as claimed.
    """

    fields: Sequence[SignInField] = (
        SignInField("name", "Your name", hint="Recorded as claimed, not as verified."),
        SignInField("groups", "Your groups", hint="Separated by commas; may stay empty."),
    )

    def __init__(self, name: str = "", groups: Sequence[str] = ()) -> None:
        self._default = Person(name, tuple(groups), operator=True)

    async def authenticate(self, request: Request) -> Person | None:
        """Return who they say they are."""
        if not _is_local(request):
            return None
        claimed = request.session.get(_CLAIMED)
        if not isinstance(claimed, dict):
            return self._default if self._default.name else None
        fields = cast("dict[str, Any]", claimed)
        groups = tuple(str(each) for each in fields.get("groups", []))
        return Person(str(fields.get("name", "")), groups, operator=True)

    async def sign_in(self, request: Request, values: Mapping[str, str]) -> None:
        """Believe them."""
        if not _is_local(request):
            raise SignInError("Without sign-in, this inbox is only for the machine it runs on.")
        name = values.get("name", "").strip()
        if not normal(name):
            raise SignInError("Give a name: answers are recorded under it.")
        groups = [each.strip() for each in values.get("groups", "").split(",")]
        request.session[_CLAIMED] = {"name": name, "groups": [each for each in groups if each]}


def _person(value: dict[str, Any]) -> Person:
    groups = value.get("groups", [])
    if not isinstance(groups, list):
        raise TypeError("groups must be a list")
    groups = cast("list[Any]", groups)
    name, tenant, operator = value["name"], value.get("tenant"), value.get("operator", False)
    for text in (name, *groups):
        if not isinstance(text, str) or not normal(text):
            raise TypeError(f"a name or a group must be a text, not {text!r}")
    if not isinstance(tenant, str | None) or not isinstance(operator, bool):
        raise TypeError("tenant must be a text, operator true or false")
    return Person(name, tuple(groups), verified=True, operator=operator, tenant=tenant)


def _fingerprint(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _address(request: Request) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(request.client.host if request.client else "")
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


def _is_local(request: Request) -> bool:
    """True for a browser on this machine: no proxy between, no foreign name that resolves here.

    A proxy that says nothing of itself and of whom it serves looks like a browser of this machine.
    Those that still speak HTTP/1.0, which no browser does, show by it.
    """
    address = _address(request)
    return (
        address is not None
        and address.is_loopback
        and is_loopback_name(request.url.hostname or "")
        # What browsers do not speak, but nginx does to what it stands before.
        and request.scope.get("http_version") != "1.0"
        and not any(name.lower().startswith(_FORWARDED) for name in request.headers)
    )


def is_loopback_name(host: str) -> bool:
    """Say whether a host, as somebody writes it, is the machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
