"""Entries of a task log in few words, and strategies that draw whole logs."""

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from a2a.types.a2a_pb2 import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import strategies as st

from a2a_temporal._log.entries import (
    CloseEntry,
    EmissionEntry,
    Entry,
    EventsEntry,
    MessageEntry,
    TaskStart,
    now_text,
    parse_time,
)
from a2a_temporal._log.fold import fold
from a2a_temporal._log.protojson import StreamEvent, to_json
from a2a_temporal._log.state import LogState, begin, snapshot

SUBMITTED = TaskState.TASK_STATE_SUBMITTED
WORKING = TaskState.TASK_STATE_WORKING
INPUT_REQUIRED = TaskState.TASK_STATE_INPUT_REQUIRED
AUTH_REQUIRED = TaskState.TASK_STATE_AUTH_REQUIRED
COMPLETED = TaskState.TASK_STATE_COMPLETED
FAILED = TaskState.TASK_STATE_FAILED
CANCELED = TaskState.TASK_STATE_CANCELED
REJECTED = TaskState.TASK_STATE_REJECTED

_NOON = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)


def clock(seconds: float) -> Timestamp:
    """A time of the wire, so many seconds after noon."""
    return parse_time(now_text(_NOON + timedelta(seconds=seconds)))


def user_message(message_id: str = "m1", text: str = "hello") -> Message:
    return Message(message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=text)])


def agent_says(message_id: str, text: str = "well") -> Message:
    return Message(message_id=message_id, role=Role.ROLE_AGENT, parts=[Part(text=text)])


def started(message: Message | None = None) -> TaskStart:
    return TaskStart(
        task_id="task",
        context_id="context",
        agent="agent",
        message=to_json(message or user_message()),
        at=now_text(_NOON),
    )


def sent(message_id: str, text: str = "more", *, at: float = 0) -> MessageEntry:
    return MessageEntry(user_message(message_id, text), {}, clock(at))


def status(
    state: TaskState, says: str = "", *, at: float | None = None, **metadata: Any
) -> TaskStatusUpdateEvent:
    """A status event; ``says`` is both the id and the text of its message."""
    event = TaskStatusUpdateEvent(status=TaskStatus(state=state))
    if says:
        event.status.message.CopyFrom(agent_says(says, says))
    if at is not None:
        event.status.timestamp.CopyFrom(clock(at))
    if metadata:
        event.metadata.update(metadata)
    return event


def chunk(artifact_id: str, text: str, *, append: bool = False) -> TaskArtifactUpdateEvent:
    artifact = Artifact(artifact_id=artifact_id, parts=[Part(text=text)])
    return TaskArtifactUpdateEvent(artifact=artifact, append=append)


def batch(
    turn: int,
    attempt: int,
    sequence: int,
    *events: StreamEvent,
    done: bool = False,
    at: float = 0,
) -> EventsEntry:
    return EventsEntry(turn, attempt, sequence, list(events), clock(at), done)


def emitted(*events: StreamEvent, at: float = 0) -> EmissionEntry:
    return EmissionEntry(list(events), clock(at))


def folded(*entries: Entry, start: TaskStart | None = None) -> LogState:
    state = begin(start or started())
    for entry in entries:
        fold(state, entry)
    return state


def through_continue_as_new(state: LogState) -> LogState:
    """What the next run of the workflow makes of what this one carries over."""
    carried: dict[str, Any] = json.loads(json.dumps(snapshot(state).to_json()))
    return begin(replace(state.start, snapshot=carried))


@dataclass(frozen=True)
class Picture:
    """Everything a log says, in a form that compares."""

    task: dict[str, Any]
    accepted: dict[str, Any]
    position: tuple[int, int, int]
    turn_done: bool
    status_turn: int
    reply: dict[str, Any] | None


def picture(state: LogState) -> Picture:
    return Picture(
        task=to_json(state.task),
        accepted=dict(state.accepted),
        position=(state.turn, state.attempt, state.sequence),
        turn_done=state.turn_done,
        status_turn=state.status_turn,
        reply=to_json(state.reply) if state.reply is not None else None,
    )


def artifact_texts(state: LogState) -> dict[str, str]:
    """Each artifact's text."""
    return {
        artifact.artifact_id: "".join(part.text for part in artifact.parts)
        for artifact in state.task.artifacts
    }


def spoken(task: Task) -> list[str]:
    """The ids of the messages in a Task's history."""
    return [message.message_id for message in task.history]


# ---------------------------------------------------------------------- strategies

_times = st.one_of(st.none(), st.integers(-5, 60))
_says = st.sampled_from(["", "", "a1", "a2", "a3", "m1"])
_open_states = st.sampled_from(
    [WORKING, WORKING, WORKING, INPUT_REQUIRED, AUTH_REQUIRED, SUBMITTED]
)
_any_state = st.sampled_from(
    [
        WORKING,
        SUBMITTED,
        INPUT_REQUIRED,
        COMPLETED,
        FAILED,
        REJECTED,
        TaskState.TASK_STATE_UNSPECIFIED,
    ]
)
_metadata = st.dictionaries(st.sampled_from(["k", "l"]), st.integers(0, 2), max_size=1)


@st.composite
def statuses(draw: st.DrawFn, states: st.SearchStrategy[TaskState]) -> TaskStatusUpdateEvent:
    return status(draw(states), draw(_says), at=draw(_times), **draw(_metadata))


@st.composite
def chunks(draw: st.DrawFn) -> TaskArtifactUpdateEvent:
    artifact_id = draw(st.sampled_from(["x", "y", "z"]))
    event = chunk(artifact_id, draw(st.sampled_from("abc")), append=draw(st.booleans()))
    event.artifact.metadata.update(draw(_metadata))
    return event


@st.composite
def tasks(draw: st.DrawFn, states: st.SearchStrategy[TaskState]) -> Task:
    said = draw(statuses(states))
    task = Task(status=said.status, artifacts=[draw(chunks()).artifact])
    task.history.extend(agent_says(each) for each in draw(st.sets(st.sampled_from(["a1", "a4"]))))
    if draw(st.booleans()):
        task.metadata.update(draw(_metadata))
    return task


def agent_events(states: st.SearchStrategy[TaskState]) -> st.SearchStrategy[StreamEvent]:
    return st.one_of(statuses(states), chunks(), chunks(), tasks(states))


messages = st.builds(sent, st.sampled_from(["m1", "m2", "m3", "m4"]), st.sampled_from(["a", "b"]))

_replies = st.builds(agent_says, st.sampled_from(["a1", "r"]))


@st.composite
def wild_batches(draw: st.DrawFn) -> EventsEntry:
    """A batch of any place in a log, or of none."""
    events = st.one_of(agent_events(_open_states), agent_events(_any_state), _replies)
    return batch(
        draw(st.integers(-1, 5)),
        draw(st.integers(-1, 4)),
        draw(st.integers(-1, 5)),
        *draw(st.lists(events, max_size=3)),
        done=draw(st.booleans()),
        at=draw(st.integers(-5, 60)),
    )


@st.composite
def emissions(draw: st.DrawFn) -> EmissionEntry:
    events = draw(st.lists(agent_events(_open_states), max_size=2))
    return emitted(*events, at=draw(st.integers(-5, 60)))


closings = st.builds(
    CloseEntry,
    st.sampled_from(["completed", "failed", "canceled", "terminated", "timed_out"]),
    st.integers(0, 60).map(clock),
    st.one_of(st.none(), st.text(max_size=3), st.dictionaries(st.text(max_size=2), st.integers())),
)

wild_logs = st.lists(
    st.one_of(
        messages, wild_batches(), wild_batches(), emissions(), st.one_of(emissions(), closings)
    ),
    max_size=20,
)
"""Any entries in any order, as signals sent by hand could bring them."""


@st.composite
def plausible_logs(draw: st.DrawFn, kinds: str = "bbbbbatme") -> list[Entry]:
    """The entries of a task that lives for a while: turns, attempts, and batches in their order.

    ``kinds`` weighs what comes next: a batch, another attempt, the next turn, a message, an
    emission of the workflow.
    """
    entries: list[Entry] = []
    turns, turn, attempt, sequence = 1, 1, 1, 0
    for _ in range(draw(st.integers(1, 25))):
        match draw(st.sampled_from(kinds)):
            case "m":
                turns += 1
                entries.append(sent(f"m{turns}"))
            case "t" if turn < turns:
                turn, attempt, sequence = turn + 1, 1, 0
            case "a":
                attempt, sequence = attempt + 1, 0
            case "e":
                entries.append(draw(emissions()))
            case _:
                sequence += 1
                events = draw(st.lists(agent_events(_open_states), min_size=1, max_size=3))
                at = draw(st.integers(0, 60))
                entries.append(batch(turn, attempt, sequence, *events, at=at))
    return entries


logs = st.one_of(plausible_logs(), wild_logs)
