"""What the payloads and history events of a workflow hold: plain JSON, and entries of the log."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import (
    HistoryEvent,
    WorkflowExecutionStartedEventAttributes,
    WorkflowExecutionTerminatedEventAttributes,
)
from temporalio.common import RawValue
from temporalio.converter import DataConverter, PayloadConverter

from a2a_temporal._aside import done, give_way
from a2a_temporal._log import wire
from a2a_temporal._log.entries import (
    CloseEntry,
    CloseKind,
    Entry,
    ResetEntry,
    TaskStart,
    parse_emission,
    parse_signal,
    parse_start,
)

_STANDARD: Final = frozenset(
    {b"json/plain", b"json/protobuf", b"binary/protobuf", b"binary/plain", b"binary/null"}
)
"""The encodings that every SDK of Temporal reads without a codec."""


class LogUnreadableError(RuntimeError):
    """The log cannot be read here: a payload could not be decoded. Trying again may help.

    Its text, or that of its cause, says what is missing. To skip such a payload would make this
    process disagree with those that can read it.
    """


def plain_json(payload: Payload, converter: PayloadConverter) -> Any:
    """Return what a payload holds; ``None`` where it claims a standard encoding and is malformed.

    Raises:
        LogUnreadableError: The encoding is not known here, so a codec of others has written it.
    """
    try:
        return converter.from_payload(payload)
    except Exception as error:  # whatever a converter raises
        if payload.metadata.get("encoding") in _STANDARD:
            return None
        raise LogUnreadableError(_unknown(payload)) from error


async def decoded(
    payloads: Sequence[Payload], converter: DataConverter, parse: Callable[[Any], Any] | None = None
) -> Any:
    """Decode one payload to plain JSON; a payload that is malformed reads as ``None``.

    Who decodes many, one after the other, gives way to others now and then.

    Args:
        payloads: One payload, or none.
        converter: The converter of the workflow the payload belongs to (:func:`of_workflow`).
        parse: Makes of the JSON what is returned.

    Raises:
        LogUnreadableError: What the payload holds is not known: the payload codec or the external
            storage failed, or no codec here knows its encoding.
    """
    await give_way()
    if not payloads:
        return parse(None) if parse else None
    try:
        # One more is asked for than there may be, to see whether there are more; what is not there
        # the SDK's converter makes up.
        raw: list[RawValue] = await converter.decode(payloads, [RawValue, RawValue])
    except Exception as error:  # whatever a codec raises
        raise LogUnreadableError("A payload of the task log could not be decoded") from error
    payloads_made: list[Any] = [each.payload for each in raw]
    there = [each for each in payloads_made if each is not None]
    if len(there) != 1:
        raise LogUnreadableError("The payload codec has not made one payload out of one")
    return await done(len(there[0].data), _parsed, there[0], converter.payload_converter, parse)


def _parsed(
    payload: Payload, converter: PayloadConverter, parse: Callable[[Any], Any] | None
) -> Any:
    value = plain_json(payload, converter)
    return parse(value) if parse else value


def _unknown(payload: Payload) -> str:
    encoding = payload.metadata.get("encoding", b"").decode(errors="replace")
    key = payload.metadata.get("encryption-key-id", b"").decode(errors="replace")
    by = f" with key {key!r}" if key else ""
    return (
        f"A payload of the task log has the encoding {encoding!r}{by}, which nothing in this "
        "process decodes. Give it the encryption keys or the payload codec of the process that "
        "wrote it"
    )


_ENGINE = "history-service"  # as Temporal signs what it terminates by itself


@dataclass(frozen=True)
class Successor:
    """The run ended by continue-as-new; the log goes on in ``run_id``."""

    run_id: str


_SIGNALS = frozenset({wire.MESSAGE_SIGNAL, wire.EVENTS_SIGNAL, wire.PUSH_CONFIG_SIGNAL})

_CLOSING: dict[str, CloseKind] = {
    "workflow_execution_completed_event_attributes": "completed",
    "workflow_execution_failed_event_attributes": "failed",
    "workflow_execution_canceled_event_attributes": "canceled",
    "workflow_execution_terminated_event_attributes": "terminated",
    "workflow_execution_timed_out_event_attributes": "timed_out",
}


_MAYBE_UNWRITTEN = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
    }
)


def closes(event: HistoryEvent) -> bool:
    """Say whether an event is the last of its run.

    That a page has no token for a next one does not say so: that of a paused workflow has none.
    """
    kind = event.WhichOneof("attributes")
    return kind in _CLOSING or kind == "workflow_execution_continued_as_new_event_attributes"


def keeps_its_id(event: HistoryEvent) -> bool:
    """Say whether no other event can have the id of this one, so that it marks a place in a log.

    Temporal shows a workflow task that it tries again as events which the history does not hold
    yet: a signal that comes meanwhile takes their ids.
    """
    return event.event_type not in _MAYBE_UNWRITTEN


def run_of(event: HistoryEvent) -> str:
    """Return the id of the run that an event says it belongs to; most events say none.

    A reset run begins with the events of the run it replaces, and then says its own.
    """
    if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
        return event.workflow_execution_started_event_attributes.original_execution_run_id
    return event.workflow_task_failed_event_attributes.new_run_id


def begins_run(event: HistoryEvent, run_id: str) -> bool:
    """Say whether with this event a run begins to have a history of its own.

    A reset run has the events of the run it replaces in front of that.
    """
    failed = event.workflow_task_failed_event_attributes
    if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
        reset = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
        return failed.cause == reset and failed.new_run_id == run_id
    return event.workflow_execution_started_event_attributes.original_execution_run_id == run_id


def is_marked(started: WorkflowExecutionStartedEventAttributes) -> bool:
    """Say whether a run's first event shows, without being decoded, that it is an A2A task."""
    return (
        wire.AGENT_ATTRIBUTE in started.search_attributes.indexed_fields
        or wire.START_MEMO in started.memo.fields
        or started.workflow_type.name == wire.AGENT_WORKFLOW
    )


async def start_of(
    event: HistoryEvent, converter: DataConverter, *, expected: bool = False
) -> TaskStart | None:
    """Read a run's first event; ``None`` when the workflow is no A2A task.

    Args:
        event: The event.
        converter: The converter of the workflow.
        expected: The workflow is one that runs tasks, whatever its first event shows.

    Raises:
        LogUnreadableError: It is one, and cannot be decoded here.
    """
    started = event.workflow_execution_started_event_attributes
    memo = started.memo.fields
    payloads = [memo[wire.START_MEMO]] if wire.START_MEMO in memo else started.input.payloads[:1]
    try:
        return await decoded(payloads, converter, parse_start)
    except LogUnreadableError:
        # Other workflows of the namespace may have codecs of their own.
        if expected or is_marked(started):
            raise
        return None


async def entry_of(event: HistoryEvent, converter: DataConverter) -> Entry | Successor | None:
    """Read any later event; ``None`` when it is not part of the task log."""
    kind = event.WhichOneof("attributes")
    if kind == "workflow_execution_signaled_event_attributes":
        signaled = event.workflow_execution_signaled_event_attributes
        if wire.MESSAGE_HEADER in signaled.header.fields:
            carried = [signaled.header.fields[wire.MESSAGE_HEADER]]
            return await decoded(carried, converter, partial(parse_signal, wire.MESSAGE_SIGNAL))
        if signaled.signal_name not in _SIGNALS:
            return None
        parse = partial(parse_signal, signaled.signal_name)
        return await decoded(signaled.input.payloads[:1], converter, parse)
    if kind == "workflow_properties_modified_event_attributes":
        fields = event.workflow_properties_modified_event_attributes.upserted_memo.fields
        if wire.ENTRY_MEMO not in fields:
            return None
        return await decoded([fields[wire.ENTRY_MEMO]], converter, parse_emission)
    if kind == "workflow_execution_continued_as_new_event_attributes":
        continued = event.workflow_execution_continued_as_new_event_attributes
        return Successor(continued.new_execution_run_id)
    if kind in _CLOSING:
        return await _close_entry(event, _CLOSING[kind], converter)
    if kind == "workflow_task_failed_event_attributes" and run_of(event):
        return ResetEntry(event.event_time)
    return None


async def _close_entry(
    event: HistoryEvent, kind: CloseKind, converter: DataConverter
) -> CloseEntry | Successor:
    attributes = getattr(event, str(event.WhichOneof("attributes")))
    successor: str = getattr(attributes, "new_execution_run_id", "")
    if successor:
        return Successor(successor)
    result = None
    if kind == "completed":
        payloads = event.workflow_execution_completed_event_attributes.result.payloads
        result = await decoded(payloads[:1], converter)
    reason = _engine_reason(event.workflow_execution_terminated_event_attributes)
    return CloseEntry(kind, _event_time(event), result, reason)


def _engine_reason(terminated: WorkflowExecutionTerminatedEventAttributes) -> str:
    """Return why Temporal itself has terminated a workflow; empty when an operator has."""
    return terminated.reason if terminated.identity == _ENGINE else ""


def _event_time(event: HistoryEvent) -> Timestamp:
    stamp = Timestamp()
    stamp.CopyFrom(event.event_time)
    stamp.nanos -= stamp.nanos % 1_000_000
    return stamp
