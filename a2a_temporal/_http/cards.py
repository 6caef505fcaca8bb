"""The agent card over HTTP: both well-known paths, caching, and URLs behind a proxy."""

import hashlib
import json
import re
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from a2a.auth.user import User
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import AgentCard, AgentInterface
from a2a.utils.constants import (
    AGENT_CARD_WELL_KNOWN_PATH,
    PROTOCOL_VERSION_0_3,
    PROTOCOL_VERSION_1_0,
    TransportProtocol,
)
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from a2a_temporal._http.bodies import with_whole_numbers
from a2a_temporal._server.cards import CardSigner, signed

OLD_CARD_PATH = "/.well-known/agent.json"

_SERVED_HERE = (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON)
_FORWARDED = ("X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Prefix")
_HOST = re.compile(r"[A-Za-z0-9.-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")
_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")


class PublicCard:
    """Serves a card, and says how any card of this server is shown.

    A signed card is shown as it was signed.

    Args:
        card: The handler's card; it is not changed.
        enable_v0_3: Declare each interface for protocol version 0.3 too, unless some one does.
        trust_forwarded: Name the URLs that a proxy was asked for, by its X-Forwarded headers.
        cache_control: Cache-Control of the answers; None sends none.
        signer: Signs what is shown.
    """

    def __init__(
        self,
        card: AgentCard,
        *,
        enable_v0_3: bool,
        trust_forwarded: bool,
        cache_control: str | None,
        signer: CardSigner | None = None,
    ) -> None:
        self._card = card
        self._enable_v0_3 = enable_v0_3
        self._trust_forwarded = trust_forwarded
        self._signer = signer
        self._headers = {"Cache-Control": cache_control} if cache_control else {}
        if trust_forwarded:
            self._headers["Vary"] = ", ".join(_FORWARDED)

    def routes(self) -> list[Route]:
        """The well-known path of the specification, and the one of early versions."""
        return [Route(path, self._answer) for path in (AGENT_CARD_WELL_KNOWN_PATH, OLD_CARD_PATH)]

    def is_for_others(self, user: User) -> bool:
        """Say whether there is an extended card, which this user may not see (A2A 1.0, 13.3)."""
        return self._card.capabilities.extended_agent_card and not user.is_authenticated

    def shown(self, card: AgentCard, headers: Headers) -> AgentCard:
        """Return a card as a client sees it that has sent these headers."""
        if self._enable_v0_3:
            card = with_v0_3(card)
        return signed(as_reached(card, headers) if self._trust_forwarded else card, self._signer)

    async def _answer(self, request: Request) -> Response:
        content = agent_card_to_dict(self.shown(self._card, request.headers))
        etag = _etag(content)
        headers = {**self._headers, "ETag": etag}
        known = [each.strip() for each in request.headers.get("if-none-match", "").split(",")]
        if "*" in known or etag in known or etag.removeprefix("W/") in known:
            return Response(status_code=304, headers=headers)
        text = with_whole_numbers(json.dumps(content, ensure_ascii=False))
        return Response(text, headers=headers, media_type="application/json")


def with_v0_3(card: AgentCard, bindings: Collection[str] = _SERVED_HERE) -> AgentCard:
    """Return the card with the interfaces that 0.3 clients find on the same URLs.

    Args:
        card: It is not changed.
        bindings: Those of which each interface serves 0.3 as well.
    """
    present = {each.protocol_version for each in card.supported_interfaces}
    if card.signatures or PROTOCOL_VERSION_0_3 in present:
        return card
    declaring = AgentCard()
    declaring.CopyFrom(card)
    declaring.supported_interfaces.extend(
        AgentInterface(
            url=each.url,
            protocol_binding=each.protocol_binding,
            protocol_version=PROTOCOL_VERSION_0_3,
            tenant=each.tenant,
        )
        for each in card.supported_interfaces
        if each.protocol_version == PROTOCOL_VERSION_1_0 and each.protocol_binding in bindings
    )
    return declaring


def as_reached(card: AgentCard, headers: Headers) -> AgentCard:
    """Return the card with the URLs under which a proxy was asked for it.

    Only the interfaces that this server serves are changed; headers that make no sense are not
    taken.
    """
    host = _first(headers, "X-Forwarded-Host")
    scheme = _first(headers, "X-Forwarded-Proto").lower()
    prefix = _first(headers, "X-Forwarded-Prefix")
    port = _first(headers, "X-Forwarded-Port")
    if card.signatures or not _HOST.fullmatch(host) or scheme not in ("http", "https", ""):
        return card
    if port.isdigit() and ":" not in host and port not in ("80", "443"):
        host = f"{host}:{port}"
    if not _PREFIX.fullmatch(prefix):
        prefix = ""
    reached = AgentCard()
    reached.CopyFrom(card)
    for each in reached.supported_interfaces:
        if each.protocol_binding in _SERVED_HERE:
            url = urlsplit(each.url)
            # The endpoint at a bare host is "/"; under a prefix it has to be said: a proxy answers
            # the prefix alone by a redirect, which a POST does not survive.
            root = "/" if prefix and each.protocol_binding == TransportProtocol.JSONRPC else ""
            path = prefix.rstrip("/") + (url.path or root)
            each.url = f"{scheme or url.scheme}://{host}{path}"
    return reached


def _first(headers: Headers, name: str) -> str:
    """Return what the proxy that is nearest to the client has said."""
    return headers.get(name, "").split(",")[0].strip()


def _etag(content: dict[str, Any]) -> str:
    """Return a weak tag of what the card says; a signature may differ each time it is made."""
    unsigned = {name: value for name, value in content.items() if name != "signatures"}
    text = json.dumps(unsigned, sort_keys=True, separators=(",", ":"))
    return f'W/"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
