"""Extensions of a request: which it asks for, which are active, and what the answer says."""

import json
from collections.abc import Iterable
from typing import Any, cast

from a2a.compat.v0_3.extension_headers import LEGACY_HTTP_EXTENSION_HEADER
from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.types import AgentCard
from starlette.requests import Request
from starlette.responses import Response

from a2a_temporal._server.resume import URI as RESUMABLE_STREAMS


def requested_extensions(request: Request) -> set[str]:
    """Return what a request asks for, under the header's present name or its former one."""
    names = (HTTP_EXTENSION_HEADER, LEGACY_HTTP_EXTENSION_HEADER)
    return get_requested_extensions([each for n in names for each in request.headers.getlist(n)])


def active_extensions(requested: Iterable[str], card: AgentCard) -> list[str]:
    """Return the requested extensions that the card declares."""
    declared = {extension.uri for extension in card.capabilities.extensions}
    return sorted(declared.intersection(requested))


def echo(response: Response, active: list[str]) -> None:
    """Tell the client which extensions its call has used (A2A 1.0 section 4.6.2)."""
    if active:
        response.headers[HTTP_EXTENSION_HEADER] = ", ".join(active)


def cursor_of(data: str) -> str | None:
    """Return the place of an event of a resumable stream, given as the JSON it is sent as."""
    try:
        frame: Any = json.loads(data)
        event = _only_member(frame.get("result", frame))
        return str(event["metadata"][RESUMABLE_STREAMS]["cursor"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _only_member(response: dict[str, Any]) -> dict[str, Any]:
    """Return the event itself: a 1.0 frame has it as its only member, a 0.3 frame is it."""
    if len(response) == 1:
        return cast("dict[str, Any]", next(iter(response.values())))
    return response
