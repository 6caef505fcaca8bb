"""``EncryptionCodec``: what a task says lies in Temporal only as ciphertext."""

import base64
import binascii
import copy
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
    SerializationContext,
    WithSerializationContext,
)
from typing_extensions import Self

KEYS_VARIABLE: Final = "A2A_TEMPORAL_ENCRYPTION_KEYS"
STRICT_VARIABLE: Final = "A2A_TEMPORAL_ENCRYPTION_STRICT"

_ENCODING = b"binary/encrypted"
_CIPHER = b"AES-GCM"
_KEY_ID = "encryption-key-id"
_WORKFLOW_ID = "encryption-workflow-id"
_NONCE_BYTES = 12
_KEY_BYTES = (16, 24, 32)


class EncryptionKeyError(Exception):
    """A payload cannot be decrypted here; the text says why, and names the key that is missing."""


class EncryptionCodec(PayloadCodec, WithSerializationContext):
    """Encrypt every payload with AES-GCM, bound to the workflow it belongs to.

    The ids of the key and of the workflow travel in the payload's metadata, and are authenticated:
    ciphertext that was copied from one workflow into another is refused there. A codec without the
    context of a workflow, as one behind a codec server, opens the payloads of all.

    Several keys may be given: the first encrypts, all decrypt. A key is replaced by adding the new
    one behind it everywhere, then moving that to the front, and dropping the old one once nothing
    encrypted with it is kept.
    Payloads that are not encrypted are read as they are, so encryption can be switched on while
    tasks run; with ``strict``, for when all tasks are encrypted, they are refused.
    Search attributes are never encrypted: Temporal has to search them.

    Args:
        keys: Key id → key of 16, 24 or 32 bytes.
        strict: Refuse payloads that are not encrypted. Signals that people type in the Temporal UI
            are such, unless the UI has a codec server.

    Attributes:
        workflow_id: The workflow it is bound to; empty for one that is not.

    Raises:
        ValueError: There is no key, or one has a wrong length.
    """

    def __init__(self, keys: Mapping[str, bytes], *, strict: bool = False) -> None:
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
        self._strict = strict
        self.workflow_id = ""

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> "EncryptionCodec | None":
        """Build the codec from ``A2A_TEMPORAL_ENCRYPTION_KEYS``: ``id:base64,id:base64``.

        It is strict where ``A2A_TEMPORAL_ENCRYPTION_STRICT`` is ``1``.

        Returns:
            The codec, or ``None`` when there are no keys.

        Raises:
            ValueError: A variable is malformed; the text quotes no key.
        """
        env = os.environ if env is None else env
        text = env.get(KEYS_VARIABLE, "").strip()
        strict = env.get(STRICT_VARIABLE, "").strip()
        if strict not in ("", "0", "1") or (strict == "1" and not text):
            raise ValueError(
                f"{STRICT_VARIABLE}={strict} is to be 0, or 1 together with {KEYS_VARIABLE}."
            )
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
        return cls(keys, strict=strict == "1")

    def with_context(self, context: SerializationContext) -> Self:
        """Return this codec bound to the workflow of a context."""
        bound = copy.copy(self)
        bound.workflow_id = getattr(context, "workflow_id", None) or ""
        return bound

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt payloads with the first key."""
        return [self._encrypt(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt payloads, each with the key it names.

        Raises:
            EncryptionKeyError: A key is not known here or does not fit, or a payload is one of
                another workflow, or is not encrypted and has to be.
        """
        return [self._decrypt(payload) for payload in payloads]

    def _encrypt(self, payload: Payload) -> Payload:
        nonce = os.urandom(_NONCE_BYTES)
        key_id = self._first.encode()
        workflow_id = self.workflow_id.encode()
        sealed = self._ciphers[self._first].encrypt(
            nonce, payload.SerializeToString(), _authenticated(key_id, workflow_id)
        )
        metadata = {"encoding": _ENCODING, "encryption-cipher": _CIPHER, _KEY_ID: key_id}
        if workflow_id:
            metadata[_WORKFLOW_ID] = workflow_id
        return Payload(metadata=metadata, data=nonce + sealed)

    def _decrypt(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != _ENCODING:
            if self._strict:
                raise EncryptionKeyError(
                    "A payload is not encrypted, and this process takes none that is not "
                    f"({STRICT_VARIABLE})."
                )
            return payload
        key_id = payload.metadata.get(_KEY_ID, b"")
        # Temporal gives some payloads no workflow, such as the result of an activity that is
        # completed by its task token; those are bound to none.
        workflow_id = payload.metadata.get(_WORKFLOW_ID, b"")
        if workflow_id and self.workflow_id.encode() not in (b"", workflow_id):
            raise EncryptionKeyError(
                f"A payload of workflow {self.workflow_id!r} was encrypted for workflow "
                f"{workflow_id.decode(errors='replace')!r}: somebody has copied it."
            )
        cipher = self._ciphers.get(key_id.decode(errors="replace"))
        if cipher is None:
            raise EncryptionKeyError(
                f"A payload is encrypted with key {key_id.decode(errors='replace')!r}, which this "
                f"process does not have. Add it to {KEYS_VARIABLE}."
            )
        nonce, sealed = payload.data[:_NONCE_BYTES], payload.data[_NONCE_BYTES:]
        try:
            plain = cipher.decrypt(nonce, sealed, _authenticated(key_id, workflow_id))
        except InvalidTag:
            raise EncryptionKeyError(
                f"A payload does not open with key {key_id.decode(errors='replace')!r}: it is "
                f"another key under the same id, or the payload was changed. See {KEYS_VARIABLE}."
            ) from None
        return Payload.FromString(plain)


def _authenticated(key_id: bytes, workflow_id: bytes) -> bytes:
    """Return what is authenticated of a payload besides its content."""
    return b"%d:%s%s" % (len(key_id), key_id, workflow_id)


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
