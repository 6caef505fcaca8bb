"""Temporal's history events become entries, whatever codec the payloads went through."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.converter import DataConverter, PayloadCodec

from a2a_temporal._log import wire
from a2a_temporal._log.entries import (
    CloseEntry,
    EmissionEntry,
    EventsEntry,
    MessageEntry,
)
from a2a_temporal._reading.decode import LogUnreadableError, Successor, entry_of, start_of
from tests.unit.log.building import Message, clock, started, user_message
from tests.unit.log.test_malformed_entries import events_signal, message_signal

PLAIN = DataConverter.default


class Reversing(PayloadCodec):
    """A codec that anybody can see through."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload(metadata={"encoding": b"test/reversed"}, data=each.SerializeToString()[::-1])
            for each in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload.FromString(each.data[::-1])
            if each.metadata.get("encoding") == b"test/reversed"
            else each
            for each in payloads
        ]


class Locked(PayloadCodec):
    """A codec whose keys are out of reach."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        raise ValueError("no key")


CODED = replace(PLAIN, payload_codec=Reversing())
CONVERTERS = pytest.mark.parametrize("converter", [PLAIN, CODED], ids=["plain", "coded"])


@CONVERTERS
async def test_the_first_event_is_the_start_of_the_task(converter: DataConverter) -> None:
    event = HistoryEvent()
    attributes = event.workflow_execution_started_event_attributes
    attributes.input.payloads.extend(await converter.encode([asdict(started())]))
    assert await start_of(event, converter) == started()


async def test_a_workflow_with_another_input_is_no_task() -> None:
    for values in ([], [7], [{"task_id": "task"}]):
        event = HistoryEvent()
        attributes = event.workflow_execution_started_event_attributes
        attributes.input.payloads.extend(await PLAIN.encode(values))
        assert await start_of(event, PLAIN) is None


@CONVERTERS
async def test_signals_are_messages_and_batches(converter: DataConverter) -> None:
    message = await entry_of(await _signaled("a2a_message", converter, message_signal()), converter)
    assert isinstance(message, MessageEntry)
    assert message.message == user_message("m2")
    assert message.request == {"user": "alice"}
    assert message.at == clock(0)
    events = await entry_of(await _signaled("a2a_events", converter, events_signal()), converter)
    assert isinstance(events, EventsEntry)
    assert (events.turn, events.attempt, events.sequence, len(events.events)) == (1, 1, 1, 2)


async def test_other_signals_are_not_part_of_the_log() -> None:
    assert await entry_of(await _signaled("nudge", PLAIN, message_signal()), PLAIN) is None


async def test_only_the_first_argument_of_a_signal_counts() -> None:
    both = await _signaled("a2a_message", PLAIN, message_signal(), "more")
    assert isinstance(await entry_of(both, PLAIN), MessageEntry)
    assert await entry_of(await _signaled("a2a_message", PLAIN), PLAIN) is None


@CONVERTERS
async def test_a_memo_that_workflow_code_wrote_is_an_emission(converter: DataConverter) -> None:
    event = HistoryEvent()
    fields = event.workflow_properties_modified_event_attributes.upserted_memo.fields
    (payload,) = await converter.encode([events_signal()])
    fields["other"].CopyFrom(payload)
    assert await entry_of(event, converter) is None
    fields[wire.ENTRY_MEMO].CopyFrom(payload)
    assert isinstance(await entry_of(event, converter), EmissionEntry)


@CONVERTERS
async def test_a_result_is_part_of_the_close(converter: DataConverter) -> None:
    event = _at_noon(HistoryEvent())
    attributes = event.workflow_execution_completed_event_attributes
    attributes.result.payloads.extend(await converter.encode([{"sum": 3}]))
    assert await entry_of(event, converter) == CloseEntry("completed", clock(0), {"sum": 3})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("workflow_execution_failed_event_attributes", "failed"),
        ("workflow_execution_canceled_event_attributes", "canceled"),
        ("workflow_execution_terminated_event_attributes", "terminated"),
        ("workflow_execution_timed_out_event_attributes", "timed_out"),
    ],
)
async def test_every_other_close_has_its_kind(name: str, kind: Any) -> None:
    event = _at_noon(HistoryEvent())
    getattr(event, name).SetInParent()
    assert await entry_of(event, PLAIN) == CloseEntry(kind, clock(0))


async def test_a_continued_run_names_its_successor() -> None:
    event = HistoryEvent()
    event.workflow_execution_continued_as_new_event_attributes.new_execution_run_id = "next"
    assert await entry_of(event, PLAIN) == Successor("next")


async def test_a_failed_run_that_is_retried_names_its_successor() -> None:
    event = HistoryEvent()
    event.workflow_execution_failed_event_attributes.new_execution_run_id = "next"
    assert await entry_of(event, PLAIN) == Successor("next")


@pytest.mark.parametrize(
    "name",
    [
        "workflow_execution_cancel_requested_event_attributes",
        "workflow_task_completed_event_attributes",
        "activity_task_scheduled_event_attributes",
        "upsert_workflow_search_attributes_event_attributes",
    ],
)
async def test_other_events_are_not_part_of_the_log(name: str) -> None:
    event = HistoryEvent()
    getattr(event, name).SetInParent()
    assert await entry_of(event, PLAIN) is None


@pytest.mark.parametrize(
    "payload",
    [
        Payload(metadata={"encoding": b"json/plain"}, data=b"{"),
        Payload(metadata={"encoding": b"json/plain"}, data=b"\xff"),
        Payload(metadata={"encoding": b"json/plain"}, data=b"[" * 100_000),
        Payload(metadata={"encoding": b"binary/plain"}, data=b"{}"),
        Payload(metadata={"encoding": b"binary/null"}),
        Payload(metadata={"encoding": b"json/protobuf", "messageType": b"no.Such"}, data=b"{}"),
    ],
    ids=lambda payload: str(payload.metadata.get("encoding", b"none"), "ascii"),
)
async def test_a_signal_that_is_no_json_is_skipped(payload: Payload) -> None:
    event = HistoryEvent()
    event.workflow_execution_signaled_event_attributes.signal_name = wire.MESSAGE_SIGNAL
    event.workflow_execution_signaled_event_attributes.input.payloads.append(payload)
    assert await entry_of(event, PLAIN) is None


async def test_a_signal_that_holds_a_protobuf_itself_is_skipped() -> None:
    event = await _signaled(wire.MESSAGE_SIGNAL, PLAIN, Message(message_id="m2"))
    assert await entry_of(event, PLAIN) is None


async def test_a_codec_that_fails_is_not_a_malformed_entry() -> None:
    event = await _signaled("a2a_message", PLAIN, message_signal())
    locked = replace(PLAIN, payload_codec=Locked())
    with pytest.raises(LogUnreadableError):
        await entry_of(event, locked)


async def _signaled(name: str, converter: DataConverter, *values: Any) -> HistoryEvent:
    event = HistoryEvent()
    attributes = event.workflow_execution_signaled_event_attributes
    attributes.signal_name = name
    attributes.input.payloads.extend(await converter.encode(values))
    return event


def _at_noon(event: HistoryEvent) -> HistoryEvent:
    event.event_time.CopyFrom(clock(0))
    event.event_time.nanos += 999
    return event
