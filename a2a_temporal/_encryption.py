"""``EncryptionCodec``: what a task says lies in Temporal only as ciphertext."""

import base64
import binascii
import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
)

KEYS_VARIABLE: Final = "A2A_TEMPORAL_ENCRYPTION_KEYS"

_ENCODING = b"binary/encrypted"
_CIPHER = b"AES-GCM"
_NONCE_BYTES = 12
_KEY_BYTES = (16, 24, 32)


class EncryptionKeyError(Exception):
    """A payload cannot be decrypted here; the text names the key that is missing."""


class EncryptionCodec(PayloadCodec):
    """Encrypt every payload with AES-GCM; the id of its key travels in the payload's metadata.

    Several keys may be given: the first encrypts, all decrypt. A key is replaced by adding the new
    one behind it everywhere, then moving that to the front, and dropping the old one once nothing
    encrypted with it is kept.
    Payloads that are not encrypted are read as they are, so encryption can be switched on while
    tasks run. Search attributes are never encrypted: Temporal has to search them.

    Args:
        keys: Key id → key of 16, 24 or 32 bytes.

    Raises:
        ValueError: There is no key, or one has a wrong length.
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        if not keys:
            raise ValueError("EncryptionCodec needs at least one key.")
        for key_id, key in keys.items():
            if not key_id or len(key) not in _KEY_BYTES:
                raise ValueError(
                    f"Encryption key {key_id!r} has {len(key)} bytes; AES takes 16, 24 or 32 (make "
                    "one: openssl rand -base64 32)."
                )
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}
        self._first = next(iter(keys))

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> "EncryptionCodec | None":
        """Build the codec from ``A2A_TEMPORAL_ENCRYPTION_KEYS``: ``id:base64,id:base64``.

        Returns:
            The codec, or ``None`` when the variable is not set.

        Raises:
            ValueError: The variable is malformed; the text quotes no key.
        """
        text = (os.environ if env is None else env).get(KEYS_VARIABLE, "").strip()
        if not text:
            return None
        keys: dict[str, bytes] = {}
        for number, entry in enumerate(text.split(","), 1):
            key_id, colon, encoded = entry.strip().partition(":")
            try:
                key = base64.b64decode(encoded, validate=True)
            except binascii.Error:
                key = b""
            if not colon or not key_id or len(key) not in _KEY_BYTES:
                raise ValueError(
                    f"{KEYS_VARIABLE}: entry {number} is not <key id>:<base64 of 16, 24 or 32 "
                    "bytes>. Make a key with: openssl rand -base64 32"
                )
            keys[key_id] = key
        return cls(keys)

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt payloads with the first key."""
        return [self._encrypt(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt payloads, each with the key it names.

        Raises:
            EncryptionKeyError: A key is not known here, or does not fit.
        """
        return [self._decrypt(payload) for payload in payloads]

    def _encrypt(self, payload: Payload) -> Payload:
        nonce = os.urandom(_NONCE_BYTES)
        key_id = self._first.encode()
        sealed = self._ciphers[self._first].encrypt(nonce, payload.SerializeToString(), key_id)
        return Payload(
            metadata={
                "encoding": _ENCODING,
                "encryption-cipher": _CIPHER,
                "encryption-key-id": key_id,
            },
            data=nonce + sealed,
        )

    def _decrypt(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != _ENCODING:
            return payload
        key_id = payload.metadata.get("encryption-key-id", b"")
        cipher = self._ciphers.get(key_id.decode(errors="replace"))
        if cipher is None:
            raise EncryptionKeyError(
                f"A payload is encrypted with key {key_id.decode(errors='replace')!r}, which this "
                f"process does not have. Add it to {KEYS_VARIABLE}."
            )
        nonce, sealed = payload.data[:_NONCE_BYTES], payload.data[_NONCE_BYTES:]
        try:
            plain = cipher.decrypt(nonce, sealed, key_id)
        except InvalidTag:
            raise EncryptionKeyError(
                f"A payload does not open with key {key_id.decode(errors='replace')!r}: it is "
                f"another key under the same id, or the payload was changed. See {KEYS_VARIABLE}."
            ) from None
        return Payload.FromString(plain)


def encrypted(converter: DataConverter, env: Mapping[str, str] | None = None) -> DataConverter:
    """Give a data converter without a codec the one of the environment, if it names keys.

    Failures are encoded too, since their texts and stack traces may quote what a payload says.

    Raises:
        ValueError: ``A2A_TEMPORAL_ENCRYPTION_KEYS`` is malformed.
    """
    if converter.payload_codec is not None:
        return converter
    codec = EncryptionCodec.from_env(env)
    if codec is None:
        return converter
    failures = converter.failure_converter_class
    if failures is DefaultFailureConverter:
        failures = DefaultFailureConverterWithEncodedAttributes
    return dataclasses.replace(converter, payload_codec=codec, failure_converter_class=failures)
