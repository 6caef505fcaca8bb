"""Templates and what they may call. Everything is escaped unless this module made it."""

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from a2a_temporal.inbox._conversation import pretty, verb
from a2a_temporal.inbox._details_form import label_of

_URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}]")
_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60))


def new_environment(*, assets: str) -> Environment:
    """Return the templates of the inbox.

    Args:
        assets: Changes with the static files.
    """
    environment = Environment(
        loader=PackageLoader("a2a_temporal.inbox"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        linked=linked,
        safe_href=safe_href,
        moment=moment,
        relative=relative,
        label=label_of,
        pretty=pretty,
        verb=verb,
        size=size_text,
        kind_of=kind_of,
        path_quoted=lambda text: quote(str(text), safe=""),
    )
    environment.globals["assets"] = assets  # pyright: ignore[reportArgumentType] # jinja2 types only its own globals
    return environment


def safe_href(url: str) -> str:
    """Return an address that may stand in a link; empty for anything but http and https."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    return url.strip() if parts.scheme in ("http", "https") and parts.netloc else ""


def linked(text: str) -> Markup:
    """Return text with its web addresses as links; everything else is escaped."""
    made: list[str | Markup] = []
    position = 0
    for match in _URL.finditer(text):
        made.append(escape(text[position : match.start()]))
        address = match.group()
        position = match.end()
        if safe_href(address):
            made.append(
                Markup('<a href="{0}" rel="noopener noreferrer nofollow">{0}</a>').format(address)
            )
        else:
            made.append(escape(address))
    made.append(escape(text[position:]))
    return Markup("").join(made)


def moment(text: str) -> str:
    """Return a time of the wire for people; the script turns it into local time."""
    at = _parsed(text)
    return f"{at:%a} {at.day} {at:%b %Y, %H:%M} UTC" if at else text


def relative(text: str) -> str:
    """Return how far away a time is: ``in 3 days``, ``2 hours ago``."""
    at = _parsed(text)
    if at is None:
        return ""
    seconds = (at - datetime.now(timezone.utc)).total_seconds()
    for name, length in _UNITS:
        amount = int(abs(seconds) // length)
        if amount:
            plural = "s" if amount > 1 else ""
            return f"in {amount} {name}{plural}" if seconds > 0 else f"{amount} {name}{plural} ago"
    return "in less than a minute" if seconds > 0 else "just now"


def size_text(size: int) -> str:
    """Return a number of bytes for people."""
    return f"{size} bytes" if size < 1024 else f"{size / 1024:.0f} KB"


def kind_of(value: Any) -> str:
    """Return how a JSON value is shown: ``fields``, ``list``, ``empty``, ``truth`` or ``text``."""
    if value is None or value == "" or value == [] or value == {}:
        return "empty"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, Mapping):
        return "fields"
    return "list" if isinstance(value, list) else "text"


def _parsed(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return at.astimezone(timezone.utc) if at.tzinfo else at.replace(tzinfo=timezone.utc)
