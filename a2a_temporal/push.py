"""For receivers of push notifications: check that one is genuine and fresh.

The signature follows the Standard Webhooks scheme, so its libraries in other languages verify our
notifications too: ``webhook-id`` is the same for every repetition of a notification,
``webhook-timestamp`` the time of this attempt in Unix seconds, ``webhook-signature`` a list of
``v1,<base64 of HMAC-SHA256>`` over ``<id>.<timestamp>.<body>``.

It needs nothing but the standard library.
"""

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

__all__ = ["SignatureError", "sign", "verify"]

ID_HEADER: Final = "webhook-id"
TIMESTAMP_HEADER: Final = "webhook-timestamp"
SIGNATURE_HEADER: Final = "webhook-signature"

_PREFIX = "whsec_"
_VERSION = "v1"
_SHORTEST_KEY = 16
_SECONDS = re.compile("[0-9]{1,15}")


class SignatureError(Exception):
    """A notification is not from the holder of the key, or it is old."""


def verify(
    body: bytes,
    headers: Mapping[str, str],
    *,
    key: str | Sequence[str],
    tolerance: timedelta = timedelta(minutes=5),
    now: float | None = None,
) -> str:
    """Check a notification and return its id; drop one whose id you have seen (section 4.3.3).

    Args:
        body: The request body, byte for byte as received.
        headers: The request headers; their case does not matter.
        key: The key shared with the sender, or several while keys are changed over.
        tolerance: How far the sender's clock may be from this one's. An older notification may be
            a replay.
        now: The time in Unix seconds, when it is not the present.

    Raises:
        SignatureError: A header is missing, the time is off, or no signature fits.
        ValueError: A key is too short.
    """
    given = {name.lower(): value for name, value in headers.items()}
    missing = [
        name for name in (ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER) if not given.get(name)
    ]
    if missing:
        raise SignatureError(f"the header {missing[0]} is missing")
    present = time.time() if now is None else now
    seconds = given[TIMESTAMP_HEADER]
    if not _SECONDS.fullmatch(seconds):
        raise SignatureError(f"{TIMESTAMP_HEADER} is no time in Unix seconds")
    at = int(seconds)
    if abs(present - at) > tolerance.total_seconds():
        raise SignatureError(f"{TIMESTAMP_HEADER} is more than {tolerance} away from now")
    signatures = given[SIGNATURE_HEADER].split()
    for each in [key] if isinstance(key, str) else key:
        expected = _signature(body, given[ID_HEADER], at, each)
        if any(hmac.compare_digest(_bytes(expected), _bytes(one)) for one in signatures):
            return given[ID_HEADER]
    raise SignatureError("no signature fits the body")


def sign(body: bytes, *, notification_id: str, at: int, keys: Sequence[str]) -> dict[str, str]:
    """Return the headers that :func:`verify` checks.

    Raises:
        ValueError: A key is too short.
    """
    return {
        ID_HEADER: notification_id,
        TIMESTAMP_HEADER: str(at),
        SIGNATURE_HEADER: " ".join(_signature(body, notification_id, at, key) for key in keys),
    }


def signing_key(key: str) -> bytes:
    """Return the bytes of a key: base64 after ``whsec_``, else the text itself.

    Raises:
        ValueError: They are too few, or no base64.
    """
    try:
        raw = (
            base64.b64decode(key.removeprefix(_PREFIX), validate=True)
            if key.startswith(_PREFIX)
            else _bytes(key)
        )
    except binascii.Error:
        raise ValueError("a signing key that starts with whsec_ goes on in base64") from None
    if len(raw) < _SHORTEST_KEY:
        raise ValueError(f"a signing key needs at least {_SHORTEST_KEY} bytes, got {len(raw)}")
    return raw


def _signature(body: bytes, notification_id: str, at: int, key: str) -> str:
    signed = _bytes(f"{notification_id}.{at}.") + body
    digest = hmac.new(signing_key(key), signed, hashlib.sha256).digest()
    return f"{_VERSION},{base64.b64encode(digest).decode()}"


def _bytes(text: str) -> bytes:
    """Encode any text: a header may have been decoded into one that is no Unicode."""
    return text.encode("utf-8", "surrogatepass")
