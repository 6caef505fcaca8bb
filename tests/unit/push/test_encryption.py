"""Payloads are ciphertext under a named key, and readable for whoever has it."""

import base64
import os

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.converter import DataConverter, WorkflowSerializationContext

from a2a_temporal import EncryptionCodec, connect
from a2a_temporal._encryption import (
    KEYS_VARIABLE,
    STRICT_VARIABLE,
    EncryptionKeyError,
    encrypted,
)
from a2a_temporal.errors import ConnectionSettingsError

OLD, NEW = os.urandom(32), os.urandom(32)
PAYLOAD = Payload(metadata={"encoding": b"json/plain"}, data=b'"a secret"')


def variable(**keys: bytes) -> dict[str, str]:
    entries = (f"{key_id}:{base64.b64encode(key).decode()}" for key_id, key in keys.items())
    return {KEYS_VARIABLE: ",".join(entries)}


async def test_a_payload_survives_and_shows_nothing_but_the_key_id() -> None:
    codec = EncryptionCodec({"new": NEW})
    (sealed,) = await codec.encode([PAYLOAD])
    assert sealed.metadata["encryption-key-id"] == b"new"
    assert b"secret" not in sealed.SerializeToString()
    assert await codec.decode([sealed]) == [PAYLOAD]
    (again,) = await codec.encode([PAYLOAD])
    assert again.data != sealed.data


async def test_the_first_key_encrypts_and_all_decrypt() -> None:
    (old,) = await EncryptionCodec({"old": OLD}).encode([PAYLOAD])
    both = EncryptionCodec({"new": NEW, "old": OLD})
    assert await both.decode([old]) == [PAYLOAD]
    (new,) = await both.encode([PAYLOAD])
    assert await EncryptionCodec({"new": NEW}).decode([new]) == [PAYLOAD]


async def test_a_missing_or_wrong_key_is_named() -> None:
    (sealed,) = await EncryptionCodec({"old": OLD}).encode([PAYLOAD])
    with pytest.raises(EncryptionKeyError, match="'old'"):
        await EncryptionCodec({"new": NEW}).decode([sealed])
    with pytest.raises(EncryptionKeyError, match="'old'"):
        await EncryptionCodec({"old": NEW}).decode([sealed])


async def test_a_changed_payload_does_not_open() -> None:
    codec = EncryptionCodec({"new": NEW})
    (sealed,) = await codec.encode([PAYLOAD])
    sealed.data = sealed.data[:-1] + bytes([sealed.data[-1] ^ 1])
    with pytest.raises(EncryptionKeyError):
        await codec.decode([sealed])


async def test_a_payload_opens_only_in_the_workflow_it_was_made_for() -> None:
    codec = EncryptionCodec({"new": NEW})
    of_alice = codec.with_context(WorkflowSerializationContext("default", "alice"))
    of_bob = codec.with_context(WorkflowSerializationContext("default", "bob"))
    (sealed,) = await of_alice.encode([PAYLOAD])
    assert await of_alice.decode([sealed]) == await codec.decode([sealed]) == [PAYLOAD]
    with pytest.raises(EncryptionKeyError, match="copied"):
        await of_bob.decode([sealed])
    sealed.metadata["encryption-workflow-id"] = b"bob"
    with pytest.raises(EncryptionKeyError, match="changed"):
        await of_bob.decode([sealed])
    del sealed.metadata["encryption-workflow-id"]
    with pytest.raises(EncryptionKeyError, match="changed"):
        await of_bob.decode([sealed])


async def test_the_environment_says_whether_what_is_not_encrypted_is_refused() -> None:
    strict = EncryptionCodec.from_env({**variable(new=NEW), STRICT_VARIABLE: "1"})
    assert strict is not None
    (sealed,) = await strict.encode([PAYLOAD])
    assert await strict.decode([sealed]) == [PAYLOAD]
    bound = strict.with_context(WorkflowSerializationContext("default", "alice"))
    for each in (strict, bound):
        with pytest.raises(EncryptionKeyError, match=STRICT_VARIABLE):
            await each.decode([PAYLOAD])
    for env in ({STRICT_VARIABLE: "1"}, {**variable(new=NEW), STRICT_VARIABLE: "yes"}):
        with pytest.raises(ConnectionSettingsError, match=STRICT_VARIABLE):
            await connect(address="127.0.0.1:1", env=env)


async def test_what_was_written_before_encryption_is_still_read() -> None:
    assert await EncryptionCodec({"new": NEW}).decode([PAYLOAD]) == [PAYLOAD]


async def test_the_environment_names_the_keys() -> None:
    codec = EncryptionCodec.from_env(variable(new=NEW, old=OLD))
    assert codec is not None
    (sealed,) = await codec.encode([PAYLOAD])
    assert await EncryptionCodec({"new": NEW}).decode([sealed]) == [PAYLOAD]
    assert EncryptionCodec.from_env({}) is None


@pytest.mark.parametrize("text", ["k1", "k1:", ":AAAA", "k1:no/base64/hunter2", "k1:aHVudGVyMg=="])
async def test_a_malformed_variable_stops_the_connection_and_is_not_quoted(text: str) -> None:
    with pytest.raises(ConnectionSettingsError) as refusal:
        await connect(address="127.0.0.1:9", lazy=True, env={KEYS_VARIABLE: text})
    assert refusal.value.setting == KEYS_VARIABLE
    assert "entry 1" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)
    assert "aHVudGVyMg" not in str(refusal.value)


@pytest.mark.parametrize("keys", [{}, {"": NEW}, {"k": b"short"}])
def test_unusable_keys_are_an_error(keys: dict[str, bytes]) -> None:
    with pytest.raises(ValueError, match="key"):
        EncryptionCodec(keys)


async def test_failures_are_encrypted_too_and_another_codec_stays() -> None:
    converter = encrypted(DataConverter.default, variable(new=NEW))
    assert converter.payload_codec is not None
    assert converter.failure_converter_class is not DataConverter.default.failure_converter_class
    assert encrypted(converter, variable(old=OLD)) is converter
    assert encrypted(DataConverter.default, {}) is DataConverter.default
