"""Fold entries of a log into an A2A Task and the events a stream delivers.

The workflow and every reader run this same code over the same entries in the same order, so they
cannot disagree. The first terminal entry wins; what follows it changes nothing.

Turns: the first message of a task is turn 1, the n-th accepted message is turn n. An accepted
message is always handled, so a COMPLETED that an agent reports while later messages already wait
reads as WORKING: the task completes with the last of them.
"""

from a2a.types.a2a_pb2 import (
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.timestamp_pb2 import Timestamp

from a2a_temporal._log.checkpoint import Checkpoint
from a2a_temporal._log.entries import (
    CloseEntry,
    EmissionEntry,
    Entry,
    EventsEntry,
    MessageEntry,
    PushConfigEntry,
    ResetEntry,
)
from a2a_temporal._log.names import normals
from a2a_temporal._log.protojson import StreamEvent, digest
from a2a_temporal._log.published import published
from a2a_temporal._log.reserved import is_reserved
from a2a_temporal._log.results import result_artifact
from a2a_temporal._log.state import (
    INTERRUPTED_STATES,
    TERMINAL_STATES,
    Accepted,
    LogState,
    Source,
    agent_message,
    change_push_configs,
)

# A state that this version does not know (a newer writer, a signal by hand) changes no state.
_SPECIFIED_STATES = frozenset(TaskState.values()) - {TaskState.TASK_STATE_UNSPECIFIED}


def fold(state: LogState, entry: Entry) -> list[StreamEvent]:
    """Apply one entry to ``state`` and return the stream events it makes, in order."""
    if state.terminal:
        return []
    state.entries += 1
    waits, since = state.interrupted, state.task.status.timestamp.ToMilliseconds()
    made = _fold(state, entry)
    state.counted += len(made)
    if waits:
        state.waited += state.task.status.timestamp.ToMilliseconds() - since
    return made


def _fold(state: LogState, entry: Entry) -> list[StreamEvent]:
    match entry:
        case MessageEntry():
            return _accept(state, entry)
        case PushConfigEntry():
            state.push_revision = change_push_configs(
                state.push_configs, entry, state.push_revision
            )
            return []
        case EventsEntry():
            if entry.source:
                return _fold_source_events(state, entry)
            return _fold_agent_events(state, entry)
        case EmissionEntry():
            made = [each for event in entry.events for each in _apply(state, event, entry.at)]
            if any(isinstance(event, Task | TaskStatusUpdateEvent) for event in entry.events):
                requests = published(state.task.status.message).requests
                names = {name for request in requests for name in request.approvers}
                state.approvers |= names
                state.asking = normals(names)
                if is_reserved(state.task.status.message):
                    state.reports.add(state.task.status.message.message_id)
            return made
        case CloseEntry():
            return _close(state, entry)
        case ResetEntry():
            # A run makes less than an event a microsecond, so what it used lies below that.
            state.skipped = max(state.skipped, entry.at.ToMicroseconds() - state.counted)
            return []


def with_message(task: Task, message: Message, at: Timestamp | None = None) -> Task:
    """Add a client's message to a task's history; returns the task.

    A task that waited for it is at work from then on: it shows no more what the message answers.
    """
    _file_status_message(task)
    if task.status.state in INTERRUPTED_STATES:
        task.status.state = TaskState.TASK_STATE_WORKING
        if at is not None:
            task.status.timestamp.CopyFrom(max(task.status.timestamp, at, key=_nanoseconds))
    added = task.history.add()
    added.CopyFrom(message)
    added.task_id = task.id
    added.context_id = task.context_id
    return task


def _accept(state: LogState, entry: MessageEntry) -> list[StreamEvent]:
    message = entry.message
    if message.message_id in state.accepted or message.message_id in state.reports:
        return []
    if entry.if_generation_match not in (None, state.counted):
        return []
    if entry.push_config is not None:
        state.set_push_config(entry.push_config)
    answers = state.interrupted
    if answers:
        state.answered_turn = max(state.answered_turn, state.status_turn)
        state.answers = state.task.status.state
    state.accepted[message.message_id] = Accepted(state.turns + 1, digest(message))
    task = with_message(state.task, message, entry.at)
    if not answers:
        return []
    return [TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=task.status)]


def _fold_agent_events(state: LogState, entry: EventsEntry) -> list[StreamEvent]:
    position = (entry.turn, entry.attempt)
    current = (state.turn, state.attempt)
    if position < current or not 1 <= entry.turn <= state.turns:
        return []
    made: list[StreamEvent] = []
    if entry.turn > state.turn:
        _open_turn(state, entry.turn)
    elif entry.attempt > state.attempt:
        if state.turn_done:
            return []
        state.lost_waiting += bool(state.checkpoint.asked)
        made += _drop_attempt(state, state.checkpoint)
    elif entry.sequence <= state.sequence:
        return []
    state.attempt = entry.attempt
    state.sequence = entry.sequence
    for event in entry.events:
        made += _apply(state, event, entry.at, turn=entry.turn, kept=state.checkpoint)
    state.turn_done = state.turn_done or entry.done
    state.completed_early = state.completed_early or entry.left
    return made


def _fold_source_events(state: LogState, entry: EventsEntry) -> list[StreamEvent]:
    source = state.sources.get(entry.source)
    made: list[StreamEvent] = []
    if source is None:
        made += _drop_other_runs(state, entry.source)
        source = Source(Checkpoint(messages=_messages(state.task)))
        state.sources[entry.source] = source
    if (entry.attempt, entry.sequence) <= (source.attempt, source.sequence):
        return made
    if entry.attempt > source.attempt:
        made += _drop_attempt(state, source.checkpoint)
        source.attempt = entry.attempt
    source.sequence = entry.sequence
    for event in entry.events:
        made += _apply(state, event, entry.at, kept=source.checkpoint)
    return made


def _drop_other_runs(state: LogState, name: str) -> list[StreamEvent]:
    """Forget what an activity had made in another run, as its workflow was reset to before it."""
    _, slash, activity = name.rpartition("/")
    return [
        event
        for other, source in state.sources.items()
        if slash and other.rpartition("/")[2] == activity
        for event in _drop_attempt(state, source.checkpoint)
    ]


def _open_turn(state: LogState, turn: int) -> None:
    state.turn = turn
    state.attempt = 0
    state.sequence = 0
    state.turn_done = False
    state.completed_early = False
    state.lost_waiting = 0
    state.checkpoint = Checkpoint(messages=_messages(state.task))


def _messages(task: Task) -> int:
    """Count the messages of a task; that of the present status is the next of its history."""
    return len(task.history) + task.status.HasField("message")


def _drop_attempt(state: LogState, kept: Checkpoint) -> list[StreamEvent]:
    """Forget what a lost attempt had built and asked; its successor does it again.

    Readers that already saw some of it get the Task anew: A2A has no event that takes an artifact
    or a message back.
    """
    if not kept.restore(state.task):
        return []
    state.places.clear()
    return [state.copy_task()]


def _apply(
    state: LogState,
    event: StreamEvent,
    at: Timestamp,
    *,
    turn: int | None = None,
    kept: Checkpoint | None = None,
) -> list[StreamEvent]:
    """Apply one event of a turn, an activity or (without ``kept``) the workflow itself."""
    if state.terminal:
        return []
    match event:
        case TaskStatusUpdateEvent():
            return [_set_status(state, event, at, turn=turn, kept=kept)]
        case TaskArtifactUpdateEvent():
            return [_set_artifact(state, event, kept=kept)]
        case Message():
            return [_set_reply(state, event, at, turn=turn, kept=kept)]
        case Task():
            return _merge_task(state, event, at, turn=turn, kept=kept)


def _set_status(
    state: LogState,
    event: TaskStatusUpdateEvent,
    at: Timestamp,
    *,
    turn: int | None = None,
    kept: Checkpoint | None = None,
) -> TaskStatusUpdateEvent:
    task = state.task
    made = TaskStatusUpdateEvent()
    made.CopyFrom(event)
    made.task_id = task.id
    made.context_id = task.context_id
    status = made.status
    if status.HasField("message"):
        status.message.task_id = task.id
        status.message.context_id = task.context_id
    if status.state not in _SPECIFIED_STATES:
        status.state = task.status.state
    if turn is not None and turn < state.turns and status.state == TaskState.TASK_STATE_COMPLETED:
        status.state = TaskState.TASK_STATE_WORKING
    # Who has asked and goes on by itself, as with a credential that came out of band, still owes
    # its caller an answer.
    goes_on = kept is not None and bool(kept.asked)
    if kept is not None:
        _remember(kept, task, made)
    reported = status.timestamp if status.HasField("timestamp") else at
    status.timestamp.CopyFrom(max(task.status.timestamp, reported, key=_nanoseconds))
    _file_status_message(task)
    answers = state.turns if turn is None else turn
    stands = status.state in INTERRUPTED_STATES and answers >= state.status_turn
    if state.interrupted and not stands and not goes_on:
        state.abandoned_turn = max(state.abandoned_turn, state.status_turn)
    task.status.CopyFrom(status)
    state.status_turn = answers
    state.answers = None
    if made.HasField("metadata"):
        task.metadata.MergeFrom(made.metadata)
    return made


def _remember(kept: Checkpoint, task: Task, update: TaskStatusUpdateEvent) -> None:
    """Note what an attempt's status is about to change."""
    if update.status.HasField("message"):
        kept.message_ids.add(update.status.message.message_id)
    state = update.status.state
    kept.asked = state if state in INTERRUPTED_STATES else 0
    kept.keep_metadata(task.metadata, update.metadata)


def _set_artifact(
    state: LogState, event: TaskArtifactUpdateEvent, *, kept: Checkpoint | None = None
) -> TaskArtifactUpdateEvent:
    task = state.task
    made = TaskArtifactUpdateEvent()
    made.CopyFrom(event)
    made.task_id = task.id
    made.context_id = task.context_id
    update = made.artifact
    known = state.artifact(update.artifact_id)
    if kept is not None:
        kept.keep_artifact(update.artifact_id, known)
    if known is None:
        made.append = False
        state.add_artifact(update)
    elif not made.append:
        known.CopyFrom(update)
    else:
        known.parts.extend(update.parts)
        known.metadata.MergeFrom(update.metadata)
        known.extensions.extend(uri for uri in update.extensions if uri not in known.extensions)
    return made


def _set_reply(
    state: LogState,
    message: Message,
    at: Timestamp,
    *,
    turn: int | None,
    kept: Checkpoint | None,
) -> TaskStatusUpdateEvent:
    """An agent answered with a Message instead of a task: that ends it, unless others wait."""
    reply = Message()
    reply.CopyFrom(message)
    reply.context_id = state.task.context_id
    if reply.task_id:
        reply.task_id = state.task.id
    status = TaskStatus(state=TaskState.TASK_STATE_COMPLETED, message=reply)
    update = TaskStatusUpdateEvent(status=status)
    made = _set_status(state, update, at, turn=turn, kept=kept)
    if state.terminal:
        state.reply = reply
    return made


def _merge_task(
    state: LogState,
    reported: Task,
    at: Timestamp,
    *,
    turn: int | None,
    kept: Checkpoint | None,
) -> list[StreamEvent]:
    """An agent sent a whole Task: take what is new in it, keep what the log already knows."""
    task = state.task
    known = {message.message_id for message in task.history} | {task.status.message.message_id}
    new = [message for message in reported.history if message.message_id not in known]
    if new:
        _file_status_message(task)
        task.history.extend(new)
        for message in task.history[-len(new) :]:
            message.task_id = task.id
            message.context_id = task.context_id
        if kept is not None:
            kept.message_ids |= {message.message_id for message in new}
    ends = reported.status.state in TERMINAL_STATES
    made: list[StreamEvent] = [
        _set_artifact(state, TaskArtifactUpdateEvent(artifact=artifact, last_chunk=ends), kept=kept)
        for artifact in reported.artifacts
    ]
    status = _news(task.status, reported.status, known)
    if status is not None:
        update = TaskStatusUpdateEvent(status=status)
        if reported.HasField("metadata"):
            update.metadata.CopyFrom(reported.metadata)
        made.append(_set_status(state, update, at, turn=turn, kept=kept))
    elif reported.HasField("metadata"):
        if kept is not None:
            kept.keep_metadata(task.metadata, reported.metadata)
        task.metadata.MergeFrom(reported.metadata)
    # No event of A2A brings history, or metadata without a status: readers get the Task.
    if new or (status is None and reported.HasField("metadata")):
        return [state.copy_task()]
    return made


def _news(present: TaskStatus, status: TaskStatus, known: set[str]) -> TaskStatus | None:
    """Return what a reported status says beyond the log, ``None`` when that is nothing."""
    same = present.HasField("message") and present.message.message_id == status.message.message_id
    if same and present.state == status.state:
        return None
    said = TaskStatus()
    said.CopyFrom(status)
    if said.message.message_id in known:
        said.ClearField("message")
    blank = said.state in (TaskState.TASK_STATE_UNSPECIFIED, TaskState.TASK_STATE_SUBMITTED)
    return None if blank and not said.HasField("message") else said


_CLOSED: dict[str, tuple[TaskState, str]] = {
    "completed": (TaskState.TASK_STATE_COMPLETED, ""),
    "failed": (TaskState.TASK_STATE_FAILED, "The task failed."),
    "canceled": (TaskState.TASK_STATE_CANCELED, ""),
    "terminated": (TaskState.TASK_STATE_FAILED, "The task was terminated by an operator."),
    "timed_out": (TaskState.TASK_STATE_FAILED, "The task ran out of time."),
}


def _close(state: LogState, entry: CloseEntry) -> list[StreamEvent]:
    made: list[StreamEvent] = []
    if entry.kind == "completed" and entry.result is not None:
        artifact = result_artifact(entry.result, state.render_result, state.task.id)
        whole = TaskArtifactUpdateEvent(artifact=artifact, last_chunk=True)
        made.append(_set_artifact(state, whole))
    closed_as, text = _CLOSED[entry.kind]
    if entry.reason:
        text = f"The task was terminated by Temporal: {_what_was_too_much(entry.reason)}"
    status = TaskStatus(state=closed_as)
    if text:
        status.message.CopyFrom(agent_message(text, message_id=f"{state.task.id}-closed"))
    made.append(_set_status(state, TaskStatusUpdateEvent(status=status), entry.at))
    return made


def _what_was_too_much(reason: str) -> str:
    """Say a limit of the engine in words of ours: what it says may name its inner parts."""
    said = reason.lower()
    if "history" in said and "limit" in said:
        return "its history has reached the limit."
    if "large" in said or ("size" in said and "limit" in said):
        return "what it had to store at once was larger than the limit."
    return "it could not go on."


def _file_status_message(task: Task) -> None:
    """Move the message of the present status to the history, before something follows it."""
    if task.status.HasField("message"):
        task.history.append(task.status.message)
        task.status.ClearField("message")


def _nanoseconds(stamp: Timestamp) -> int:
    return stamp.ToNanoseconds()
