"""What was missed and what comes anew make one stream: nothing twice, nothing left out."""

from collections.abc import AsyncIterator
from typing import Any, cast

from a2a.types.a2a_pb2 import Task, TaskArtifactUpdateEvent

from a2a_temporal._reading.position import LogEvent, LogPosition
from a2a_temporal._server.resume import following


class _Reader:
    """A reader that has some events."""

    def __init__(self, *events: LogEvent) -> None:
        self._events = events

    async def events(self) -> AsyncIterator[list[LogEvent]]:
        for event in self._events:
            yield [event]


def _event(run: str, event_id: int, index: int = 0) -> LogEvent:
    return LogEvent(LogPosition(run, event_id, index), TaskArtifactUpdateEvent(), 1)


def _snapshot(run: str, event_id: int) -> LogEvent:
    return LogEvent(LogPosition(run, event_id, LogPosition.ALL), Task(), 1)


async def _told(missed: list[LogEvent], *anew: LogEvent) -> list[tuple[str, int, int]]:
    reader = cast("Any", _Reader(*anew))
    cursors = [event.position async for events in following(reader, missed) for event in events]
    return [(each.run_id, each.event_id, each.index) for each in cursors]


async def test_what_the_reader_has_of_the_missed_comes_once() -> None:
    missed = [_event("a", 5), _event("a", 7), _event("a", 7, 1)]
    told = await _told(missed, _event("a", 7), _event("a", 7, 1), _event("a", 9), _event("b", 3))
    assert told == [("a", 5, 0), ("a", 7, 0), ("a", 7, 1), ("a", 9, 0), ("b", 3, 0)]


async def test_a_reader_that_lags_in_an_earlier_run_repeats_nothing_of_it() -> None:
    missed = [_event("a", 5), _event("b", 3)]
    told = await _told(missed, _event("a", 5), _event("b", 3), _event("b", 4))
    assert told == [("a", 5, 0), ("b", 3, 0), ("b", 4, 0)]


async def test_a_snapshot_comes_unless_it_is_older_than_what_was_told() -> None:
    missed = [_event("a", 5), _event("a", 8)]
    told = await _told(missed, _snapshot("a", 6), _event("a", 8), _snapshot("a", 9))
    assert told == [("a", 5, 0), ("a", 8, 0), ("a", 9, LogPosition.ALL)]
    told = await _told([_event("a", 5)], _snapshot("of a reset", 6), _event("of a reset", 7))
    assert told == [("a", 5, 0), ("of a reset", 6, LogPosition.ALL), ("of a reset", 7, 0)]


async def test_without_anything_missed_all_comes_from_the_reader() -> None:
    assert await _told([], _event("a", 5)) == [("a", 5, 0)]
