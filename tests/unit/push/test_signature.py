"""Receivers can tell a genuine, fresh notification from any other."""

import base64
import hashlib
import hmac
from datetime import timedelta

import pytest

from a2a_temporal.push import SignatureError, sign, verify

KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()
NEW_KEY = "another key, as plain text"
BODY = '{"statusUpdate": {"ä": 1}}'.encode()
AT = 1_700_000_000


def signed(*keys: str) -> dict[str, str]:
    return sign(BODY, notification_id="run.5.0", at=AT, keys=keys)


def test_a_genuine_notification_gives_its_id() -> None:
    assert verify(BODY, signed(KEY), key=KEY, now=AT + 10) == "run.5.0"


def test_header_names_are_read_in_any_case() -> None:
    headers = {name.title(): value for name, value in signed(KEY).items()}
    assert verify(BODY, headers, key=KEY, now=AT)


def test_it_is_the_standard_webhooks_signature() -> None:
    content = b"run.5.0." + str(AT).encode() + b"." + BODY
    expected = base64.b64encode(hmac.new(b"k" * 32, content, hashlib.sha256).digest()).decode()
    assert signed(KEY)["webhook-signature"] == f"v1,{expected}"


def test_keys_can_be_changed_over_on_either_side_first() -> None:
    assert verify(BODY, signed(KEY, NEW_KEY), key=NEW_KEY, now=AT)
    assert verify(BODY, signed(NEW_KEY), key=[KEY, NEW_KEY], now=AT)


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "run.6.0"},
        {"webhook-timestamp": str(AT + 1)},
        {"webhook-timestamp": "soon"},
        {"webhook-timestamp": "9" * 400},
        {"webhook-timestamp": "9" * 5000},
        {"webhook-signature": "v1,AAAA"},
        {"webhook-signature": "v1a,ünicode"},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,\ud800"},
        {"webhook-id": "run.5.\udfff"},
        {"webhook-timestamp": "\ud800"},
        {"webhook-timestamp": "\uff11700000000"},
        {"webhook-timestamp": "+1700000000"},
        {"webhook-timestamp": "1_700_000_000"},
    ],
)
def test_any_change_is_noticed(change: dict[str, str]) -> None:
    with pytest.raises(SignatureError):
        verify(BODY, {**signed(KEY), **change}, key=KEY, now=float(AT))


def test_another_body_or_key_is_noticed() -> None:
    with pytest.raises(SignatureError):
        verify(BODY + b" ", signed(KEY), key=KEY, now=AT)
    with pytest.raises(SignatureError):
        verify(BODY, signed(NEW_KEY), key=KEY, now=AT)


@pytest.mark.parametrize("seconds", [-301, 301])
def test_a_replay_is_too_old(seconds: int) -> None:
    with pytest.raises(SignatureError, match="away from now"):
        verify(BODY, signed(KEY), key=KEY, now=AT + seconds)
    tolerance = timedelta(seconds=400)
    assert verify(BODY, signed(KEY), key=KEY, now=AT + seconds, tolerance=tolerance)


@pytest.mark.parametrize("key", ["", "short", "whsec_!!!!", "whsec_c2hvcnQ="])
def test_a_weak_key_is_an_error(key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        verify(BODY, signed(KEY), key=key, now=AT)
