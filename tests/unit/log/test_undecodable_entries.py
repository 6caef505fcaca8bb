"""An entry whose encoding nobody here knows is never taken for nothing."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.converter import DataConverter, PayloadCodec

from a2a_temporal import EncryptionCodec
from a2a_temporal._log import wire
from a2a_temporal._reading.decode import LogUnreadableError, entry_of, start_of
from tests.unit.log.building import started
from tests.unit.log.test_malformed_entries import message_signal

PLAIN = DataConverter.default
ENCRYPTED = replace(PLAIN, payload_codec=EncryptionCodec({"theirs": b"k" * 32}))
UNKNOWN = Payload(metadata={"encoding": b"test/unknown"}, data=b"{}")


class Remade(PayloadCodec):
    """Makes another number of payloads than there were, or leaves those it does not know."""

    def __init__(self, times: int) -> None:
        self._times = times

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads) * self._times


@pytest.mark.parametrize("payload", [Payload(), Payload(data=b"{}"), UNKNOWN], ids=str)
async def test_a_payload_of_no_known_encoding_is_not_skipped(payload: Payload) -> None:
    with pytest.raises(LogUnreadableError, match="encoding"):
        await entry_of(_signal(payload), PLAIN)


@pytest.mark.parametrize(
    "here", [PLAIN, replace(PLAIN, payload_codec=Remade(1))], ids=["no codec", "another codec"]
)
async def test_what_others_have_encrypted_is_not_skipped(here: DataConverter) -> None:
    (sealed,) = await ENCRYPTED.encode([message_signal()])
    with pytest.raises(LogUnreadableError, match=r"'binary/encrypted' with key 'theirs'"):
        await entry_of(_signal(sealed), here)
    with pytest.raises(LogUnreadableError):
        await entry_of(_emission(sealed), here)
    with pytest.raises(LogUnreadableError):
        await entry_of(_result(sealed), here)


@pytest.mark.parametrize("times", [0, 2])
async def test_a_codec_that_makes_another_number_of_payloads_has_failed(times: int) -> None:
    (payload,) = await PLAIN.encode([message_signal()])
    with pytest.raises(LogUnreadableError):
        await entry_of(_signal(payload), replace(PLAIN, payload_codec=Remade(times)))


async def test_a_start_is_a_tasks_by_what_is_not_encrypted() -> None:
    (sealed,) = await ENCRYPTED.encode([asdict(started())])
    event = HistoryEvent()
    attributes = event.workflow_execution_started_event_attributes
    attributes.input.payloads.append(sealed)
    assert await start_of(event, PLAIN) is None
    with pytest.raises(LogUnreadableError):
        await start_of(event, PLAIN, expected=True)
    attributes.workflow_type.name = wire.AGENT_WORKFLOW
    with pytest.raises(LogUnreadableError):
        await start_of(event, PLAIN)
    attributes.workflow_type.name = "Other"
    attributes.search_attributes.indexed_fields[wire.AGENT_ATTRIBUTE].data = b'"agent"'
    with pytest.raises(LogUnreadableError):
        await start_of(event, PLAIN)
    attributes.search_attributes.Clear()
    attributes.memo.fields[wire.START_MEMO].CopyFrom(sealed)
    with pytest.raises(LogUnreadableError):
        await start_of(event, PLAIN)
    assert await start_of(event, ENCRYPTED) is not None


def _signal(payload: Payload) -> HistoryEvent:
    event = HistoryEvent()
    attributes = event.workflow_execution_signaled_event_attributes
    attributes.signal_name = wire.MESSAGE_SIGNAL
    attributes.input.payloads.append(payload)
    return event


def _emission(payload: Payload) -> HistoryEvent:
    event = HistoryEvent()
    fields: Any = event.workflow_properties_modified_event_attributes.upserted_memo.fields
    fields[wire.ENTRY_MEMO].CopyFrom(payload)
    return event


def _result(payload: Payload) -> HistoryEvent:
    event = HistoryEvent()
    event.workflow_execution_completed_event_attributes.result.payloads.append(payload)
    return event
