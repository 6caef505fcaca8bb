"""Resumable streams: give each streamed event its place in the log, and go on after one.

The extension is described in ``docs/extensions/resumable-streams.md``. Without it a stream is what
A2A 1.0 says: a subscription begins with the Task.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import AgentCard, AgentExtension, Message
from google.protobuf.struct_pb2 import Struct
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._executions import described
from a2a_temporal._gateway import is_missing_workflow
from a2a_temporal._log.history import Successor, entry_of
from a2a_temporal._log.reading import NoTaskError, begun, converter_of, history_events
from a2a_temporal._log.state import LogState
from a2a_temporal._server.follower import Cursor, LogEvent, Reader, RenderResult, log_events

URI = "https://a2a-temporal.dev/extensions/resumable-streams/v1"
CURSOR_PARAMETER = "a2a-stream-cursor"
LAST_EVENT_ID = "last-event-id"

_CURSOR = re.compile(r"([0-9A-Za-z-]{1,64})\.(\d{1,9})\.(\d{1,9})")
_MOST_RUNS = 1000
_PLACE = "place"
_EVENTS_AT_ONCE = 100


def declared(card: AgentCard) -> AgentCard:
    """Return the card with the extension declared, where the agent streams and nobody signed it."""
    known = any(each.uri == URI for each in card.capabilities.extensions)
    if known or card.signatures or not card.capabilities.streaming:
        return card
    declaring = AgentCard()
    declaring.CopyFrom(card)
    declaring.capabilities.extensions.append(
        AgentExtension(
            uri=URI,
            description="Each streamed event says where it stands; SubscribeToTask goes on there.",
        )
    )
    return declaring


@dataclass(frozen=True)
class Resumption:
    """What a caller asked of the extension.

    Attributes:
        activated: Events carry their place.
        after: The event that the caller saw last.
    """

    activated: bool
    after: Cursor | None = None

    @classmethod
    def of(cls, context: ServerCallContext) -> "Resumption":
        """Read it from a call."""
        if URI not in context.requested_extensions:
            return cls(activated=False)
        headers = cast("dict[str, str]", context.state.get("headers", {}))
        text = headers.get(CURSOR_PARAMETER) or headers.get(LAST_EVENT_ID) or ""
        return cls(activated=True, after=_parse(text))

    def stamped(self, event: LogEvent) -> LogEvent:
        """Return the event with its place in its metadata, where that is asked for."""
        if not self.activated or isinstance(event.event, Message):
            return event
        stamped: LogEvent | None = event.shared.get(URI)
        if stamped is None:
            copy = type(event.event)()
            copy.CopyFrom(event.event)  # pyright: ignore[reportArgumentType] # of the same type, by the line before
            place = Struct()
            place["cursor"] = _text(event.cursor)
            place["generation"] = event.cursor.generation
            copy.metadata[URI] = place
            stamped = LogEvent(event.cursor, copy, event.turn, {_PLACE: _text(event.cursor)})
            event.shared[URI] = stamped
        return stamped


def place_of(event: LogEvent) -> str | None:
    """Return the place that the event says it has in its log, if it says one."""
    return event.shared.get(_PLACE)


def _text(cursor: Cursor) -> str:
    return f"{cursor.run_id}.{cursor.event_id}.{cursor.index}"


def _parse(text: str) -> Cursor | None:
    found = _CURSOR.fullmatch(text.strip())
    return Cursor(found[1], int(found[2]), int(found[3])) if found else None


async def events_after(
    client: Client,
    task_id: str,
    after: Cursor,
    *,
    timeout: timedelta,
    render_result: RenderResult | None = None,
) -> list[LogEvent] | None:
    """Return the events that the log holds behind a cursor.

    ``None`` when the cursor is of no use: it is of another task, its run has been deleted or
    replaced by a reset.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    try:
        latest = await described(client, task_id, timeout=timeout)
        events: list[LogEvent] = []
        run_id = after.run_id
        for _ in range(_MOST_RUNS):
            read = await _read_run(client, task_id, run_id, render_result)
            events += read.events
            if read.successor is None:
                break
            run_id = read.successor
    except NoTaskError:
        return None
    except RPCError as error:
        if is_missing_workflow(error) or error.status == RPCStatusCode.INVALID_ARGUMENT:
            return None
        raise
    if run_id != latest.workflow_execution_info.execution.run_id:
        return None
    place = (after.event_id, after.index)
    return [
        event
        for event in events
        if event.cursor.run_id != after.run_id
        or (event.cursor.event_id, event.cursor.index) > place
    ]


async def following(reader: Reader, missed: list[LogEvent]) -> AsyncIterator[list[LogEvent]]:
    """Yield what was missed, then what the reader, attached before that was read, has anew.

    A stream may live for days, so ``missed`` is emptied meanwhile.
    """
    told = _Told.by(missed)
    missed.reverse()
    while missed:
        yield [missed.pop() for _ in range(min(len(missed), _EVENTS_AT_ONCE))]
    async for events in reader.events():
        new = [event for event in events if not told.holds(event.cursor)]
        if new:
            yield new
        events.clear()


@dataclass(frozen=True)
class _Told:
    """The part of a log that a caller was told of; what a reader has of it was told before.

    Attributes:
        runs: Runs that were told to their ends.
        last: The newest event that was told.
    """

    runs: frozenset[str] = frozenset()
    last: Cursor | None = None

    @classmethod
    def by(cls, events: list[LogEvent]) -> "_Told":
        """Return the part that ends with some events, which are in order and without gaps."""
        if not events:
            return cls()
        last = events[-1].cursor
        runs = {event.cursor.run_id for event in events}
        return cls(frozenset(runs - {last.run_id}), last)

    def holds(self, cursor: Cursor) -> bool:
        """Say whether an event was told."""
        if self.last is None or cursor.run_id != self.last.run_id:
            return cursor.run_id in self.runs
        return (cursor.event_id, cursor.index) <= (self.last.event_id, self.last.index)


@dataclass(frozen=True)
class _Run:
    events: list[LogEvent]
    successor: str | None


async def _read_run(
    client: Client, task_id: str, run_id: str, render_result: RenderResult | None
) -> _Run:
    state: LogState | None = None
    events: list[LogEvent] = []
    converter = converter_of(client, task_id)
    async for event in history_events(client, task_id, run_id):
        if state is None:
            state = await begun(client, task_id, event, render_result=render_result)
            continue
        entry = await entry_of(event, converter)
        if isinstance(entry, Successor):
            return _Run(events, entry.run_id)
        if entry is not None:
            events += log_events(state, entry, run_id, event.event_id)
    if state is None:
        raise NoTaskError(task_id)
    return _Run(events, None)
