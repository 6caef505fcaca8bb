"""Resumable streams: give each streamed event its place in the log, and go on after one.

The extension is described in ``docs/extensions/resumable-streams.md``. Without it a stream is what
A2A 1.0 says: a subscription begins with the Task.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import cast

from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import AgentCard, AgentExtension, Message
from google.protobuf.struct_pb2 import Struct
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import Gateway, is_missing_workflow
from a2a_temporal._reading.position import LogEvent, LogPosition
from a2a_temporal._reading.reader import LogReader, NoTaskError, RenderResult
from a2a_temporal._server.feed import Subscription

URI = "https://a2a-temporal.dev/extensions/resumable-streams/v1"
CURSOR_PARAMETER = "a2a-stream-cursor"
LAST_EVENT_ID = "last-event-id"

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
    after: LogPosition | None = None

    @classmethod
    def of(cls, context: ServerCallContext) -> "Resumption":
        """Read it from a call."""
        if URI not in context.requested_extensions:
            return cls(activated=False)
        headers = cast("dict[str, str]", context.state.get("headers", {}))
        text = headers.get(CURSOR_PARAMETER) or headers.get(LAST_EVENT_ID) or ""
        return cls(activated=True, after=LogPosition.parse(text))

    def stamped(self, event: LogEvent) -> LogEvent:
        """Return the event with its place in its metadata, where that is asked for."""
        if not self.activated or isinstance(event.event, Message):
            return event
        stamped: LogEvent | None = event.shared.get(URI)
        if stamped is None:
            copy = type(event.event)()
            copy.CopyFrom(event.event)  # pyright: ignore[reportArgumentType] # of the same type, by the line before
            place = Struct()
            place["cursor"] = str(event.position)
            place["generation"] = event.position.generation
            copy.metadata[URI] = place
            stamped = LogEvent(event.position, copy, event.turn, {_PLACE: str(event.position)})
            event.shared[URI] = stamped
        return stamped


def place_of(event: LogEvent) -> str | None:
    """Return the place that the event says it has in its log, if it says one."""
    return event.shared.get(_PLACE)


async def events_after(
    gateway: Gateway,
    task_id: str,
    after: LogPosition,
    *,
    newest_run: str,
    render_result: RenderResult | None = None,
) -> list[LogEvent] | None:
    """Return the events that the log holds behind a place.

    ``None`` when the place is of no use: it is of another task, its run has been deleted or
    replaced by a reset.

    Args:
        gateway: Calls Temporal.
        task_id: The task.
        after: The place.
        newest_run: A run that the log has come to; the place leads there.
        render_result: Turns the result of a plain workflow into parts.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    events: list[LogEvent] = []
    runs = {after.run_id}

    def listen(_: object, made: list[LogEvent]) -> None:
        run_id = reader.position.run_id
        runs.add(run_id)
        events.extend(
            each for each in made if run_id != after.run_id or each.position.is_behind(after)
        )

    reader = LogReader(gateway, task_id, since=after.run_id, render_result=render_result)
    reader.listen = listen
    try:
        await reader.read()
    except NoTaskError:
        return None
    except RPCError as error:
        if is_missing_workflow(error) or error.status == RPCStatusCode.INVALID_ARGUMENT:
            return None
        raise
    runs.add(reader.position.run_id)
    return events if newest_run in runs and not reader.resets else None


async def following(
    subscription: Subscription, missed: list[LogEvent]
) -> AsyncIterator[list[LogEvent]]:
    """Yield the missed events, then new ones, without duplicates.

    A stream may live for days, so ``missed`` is emptied meanwhile.

    Args:
        subscription: Made before the missed events were read.
        missed: Those behind the place that the caller named.
    """
    delivered = _Delivered.by(missed)
    missed.reverse()
    while missed:
        yield [missed.pop() for _ in range(min(len(missed), _EVENTS_AT_ONCE))]
    async for events in subscription.events():
        new = [event for event in events if not delivered.holds(event.position)]
        if new:
            yield new
        events.clear()


@dataclass(frozen=True)
class _Delivered:
    """The part of a log that a caller has; what a subscription has of it is passed over.

    Attributes:
        runs: Runs that were delivered to their ends.
        last: The newest event that was delivered.
    """

    runs: frozenset[str] = frozenset()
    last: LogPosition | None = None

    @classmethod
    def by(cls, events: list[LogEvent]) -> "_Delivered":
        """Return the part that ends with some events, which are in order and without gaps."""
        if not events:
            return cls()
        last = events[-1].position
        runs = {event.position.run_id for event in events}
        return cls(frozenset(runs - {last.run_id}), last)

    def holds(self, position: LogPosition) -> bool:
        """Say whether an event was delivered."""
        if self.last is None or position.run_id != self.last.run_id:
            return position.run_id in self.runs
        return not position.is_behind(self.last)
