"""However a log is cut into pages, runs and calls, its reader says what the whole log folds to."""

import asyncio
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.service import RPCError

from a2a_temporal._log.entries import Entry
from a2a_temporal._reading.position import LogEvent, LogPosition
from a2a_temporal._reading.reader import LogReader
from tests.unit.log.building import Picture, logs, picture, sent
from tests.unit.log.histories import TASK_ID, Histories, Run, folded_run

_STEPS = "eeeeeeeecxrrpp"
"""What comes next: an entry, continue-as-new, a reset, a read, a page that is waited for."""


class _Listener:
    """Notes what a reader tells of a log, and where it told the last reset."""

    def __init__(self, reader: LogReader) -> None:
        self.events: list[LogEvent] = []
        self.shown: LogPosition | None = None
        reader.listen = self._listen

    def _listen(self, entry: object, made: list[LogEvent]) -> None:
        self.events += made
        if entry is None:
            self.shown = made[-1].position


@given(logs, st.data())
def test_a_reader_says_what_the_whole_history_folds_to(log: list[Entry], data: Any) -> None:
    histories = _histories(data)
    reader = _reader(histories)

    async def read_in_pieces() -> None:
        await _live(histories, reader, log, data, "eeeeeecxr")
        await _until_read(reader)
        assert reader.state is not None
        assert picture(reader.state) == await _folded(histories)
        assert reader.position.run_id == reader.state.run_id == histories.newest.run_id

    asyncio.run(read_in_pieces())


@given(logs, st.data())
def test_who_listens_is_told_every_event_once_and_in_order(log: list[Entry], data: Any) -> None:
    histories = _histories(data)
    reader = _reader(histories, since=histories.newest.run_id)
    listener = _Listener(reader)

    async def follow() -> None:
        await _live(histories, reader, log, data, _STEPS)
        await _until_read(reader)
        # That a run which had closed by itself was reset shows when its end is read again.
        await _until_read(reader)
        assert reader.state is not None
        assert picture(reader.state) == await _folded(histories)
        _check_events(listener, [(run, await _events(run)) for run in histories.runs])

    asyncio.run(follow())


@given(logs, st.data())
def test_what_is_read_from_an_earlier_run_on_is_all_that_came_since(
    log: list[Entry], data: Any
) -> None:
    histories = _histories(data)

    async def read_late() -> None:
        await _live(histories, None, log, data, "eeeec")
        first = data.draw(st.sampled_from(histories.runs))
        reader = _reader(histories, since=first.run_id)
        listener = _Listener(reader)
        await _until_read(reader)
        since = histories.runs[histories.runs.index(first) :]
        whole = [event for run in since for event in await _events(run)]
        assert listener.events == whole

    asyncio.run(read_late())


@pytest.mark.parametrize("between", ["an entry", "continue-as-new", "a reset"])
def test_a_reading_that_was_interrupted_ends_with_what_came_meanwhile(between: str) -> None:
    pages = iter([False, True])
    histories = Histories(split=lambda: 2, failing=lambda: next(pages, False))
    reader = _reader(histories)

    async def read() -> None:
        for number in range(4):
            histories.add(sent(f"before-{number}"))
        assert not await _tried(reader.read())
        if between == "continue-as-new":
            await histories.continue_as_new()
        elif between == "a reset":
            histories.reset(1)
        histories.add(sent("meanwhile"))
        state = await reader.read()
        assert "meanwhile" in state.accepted
        assert picture(state) == await _folded(histories)

    asyncio.run(read())


def _histories(data: Any) -> Histories:
    pages = st.integers(1, 6)
    return Histories(
        split=lambda: data.draw(pages, "page"),
        failing=lambda: data.draw(st.sampled_from([False] * 5 + [True]), "failing"),
    )


def _reader(histories: Histories, since: str = "") -> LogReader:
    return LogReader(cast("Any", histories), TASK_ID, since=since)


async def _live(
    histories: Histories, reader: LogReader | None, log: list[Entry], data: Any, steps: str
) -> None:
    """Let a task live, and read it now and then."""
    left = log[:]
    while left:
        match data.draw(st.sampled_from(steps), "step"):
            case "e":
                histories.add(left.pop(0))
            case "c":
                await histories.continue_as_new()
            case "x":
                histories.reset(data.draw(st.integers(0, 20), "cut"))
            case "r" if reader is not None:
                await _tried(reader.read())
            case "p" if reader is not None:
                await _tried(reader.poll())
            case _:
                pass


async def _until_read(reader: LogReader) -> None:
    while not await _tried(reader.read()):
        pass


async def _tried(call: Any) -> bool:
    try:
        await call
    except RPCError:
        return False
    return True


async def _folded(histories: Histories) -> Picture:
    states = [state async for state, _ in folded_run(histories.newest)]
    return picture(states[-1])


def _check_events(listener: _Listener, runs: list[tuple[Run, list[LogEvent]]]) -> None:
    """Check that all was told since the last reset that was: before it, some was never read."""
    shown = listener.shown or LogPosition(runs[0][0].run_id, 0)
    replaced = False
    for run, whole in reversed(runs):
        begun = max(run.shared, shown.event_id if run.run_id == shown.run_id else 0)
        told = [event for event in listener.events if event.position.run_id == run.run_id]
        if replaced:  # what a reset took back may have been read in part
            assert told == [event for event in whole if event in told]
        else:
            own = [event for event in whole if event.position.event_id > begun]
            assert [event for event in told if event.position.event_id > begun] == own
        if run.run_id == shown.run_id:
            break
        replaced = replaced or run.shared > 0
    assert _in_order(listener.events)


async def _events(run: Run) -> list[LogEvent]:
    return [event async for _, made in folded_run(run) for event in made]


def _in_order(events: list[LogEvent]) -> bool:
    """Say whether no event comes behind a later one of its run."""
    last: dict[str, LogPosition] = {}
    for event in events:
        before = last.get(event.position.run_id)
        if before is not None and not event.position.is_behind(before):
            return False
        last[event.position.run_id] = event.position
    return True
