"""What the entries of a log add up to: the state that ``fold`` changes.

The workflow and every reader hold one; a run that ends by continue-as-new hands it on as JSON.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from a2a.types.a2a_pb2 import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
)

from a2a_temporal._log import wire
from a2a_temporal._log.checkpoint import Checkpoint
from a2a_temporal._log.entries import (
    PushConfigEntry,
    TaskStart,
    parse_push_config,
    parse_time,
)
from a2a_temporal._log.protojson import digest, from_json, to_json
from a2a_temporal._log.reserved import is_reserved
from a2a_temporal._log.snapshot import Snapshot, TurnNumbers

TERMINAL_STATES = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
INTERRUPTED_STATES = frozenset(
    {TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED}
)


@dataclass(frozen=True)
class Accepted:
    """A client message that is part of the task: the turn it opens and a hash of its content."""

    turn: int
    digest: str


@dataclass(frozen=True)
class PushConfig:
    """A push notification config that is set.

    ``revision`` is a number that grows each time any config is set; ``since`` the one with which
    this config appeared, which stays the same until it is deleted.
    """

    config: TaskPushNotificationConfig
    since: int
    revision: int


_BYTES, _MESSAGE_BYTES = 4000, 500


@dataclass
class Source:
    """An activity of a workflow author that publishes: its attempt, and what was before it."""

    checkpoint: Checkpoint
    attempt: int = 0
    sequence: int = 0


@dataclass
class LogState(TurnNumbers):
    """Everything the entries so far say. Changed only by :func:`fold`.

    ``approvers`` are the people and groups ever asked to decide, ``asking`` those asked now,
    in the form in which names are compared; ``reports`` are the ids of the messages by which the
    workflow asks and says what was decided.
    ``render_result`` turns the result of a plain workflow into parts. ``reply`` is the direct
    Message of an agent that answered without making a task.
    ``push_configs`` says by id who is told of events, ``push_revision`` how often one was set.
    ``entries`` counts what was folded, in all runs: of two states the larger is the newer.
    ``counted`` numbers the stream events that were made, 1 being the Task as it began; ``skipped``
    is how many numbers the runs that a reset has replaced may have used.
    ``run_id`` is the run it was read from, where a reader has noted it, ``turns_before`` the number
    of messages with which the present run began.
    """

    start: TaskStart
    task: Task
    accepted: dict[str, Accepted]
    reply: Message | None = None
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    approvers: set[str] = field(default_factory=set[str])
    asking: frozenset[str] = frozenset()
    reports: set[str] = field(default_factory=set[str])
    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    render_result: Callable[[Any], list[Part]] | None = None
    push_configs: dict[str, PushConfig] = field(default_factory=dict[str, PushConfig])
    push_revision: int = 0
    entries: int = 0
    counted: int = 1
    skipped: int = 0
    run_id: str = ""
    turns_before: int = 1
    places: dict[str, int] = field(default_factory=dict[str, int], compare=False, repr=False)

    @property
    def generation(self) -> int:
        """The number of the newest stream event of the task: no two events have the same."""
        return self.counted + self.skipped

    @property
    def terminal(self) -> bool:
        """True once nothing can change the task any more."""
        return self.task.status.state in TERMINAL_STATES

    @property
    def interrupted(self) -> bool:
        """True while the task waits for input or for a credential."""
        return self.task.status.state in INTERRUPTED_STATES

    def waited_at(self, now: datetime) -> int:
        """Return for how many milliseconds the task has waited for people until now."""
        if not self.interrupted:
            return self.waited
        since = self.task.status.timestamp.ToMilliseconds()
        return self.waited + max(0, round(now.timestamp() * 1000) - since)

    def settled(self, turn: int) -> bool:
        """True when a caller who waits for ``turn`` has an answer (A2A 1.0 section 3.2.2).

        That may have been a question which somebody else has answered since.
        """
        asks = self.interrupted and self.status_turn >= turn
        return self.terminal or asks or self.answered_turn >= turn

    def was_settled(self, turn: int) -> bool:
        """True when a caller who has waited since ``turn`` began has had an answer.

        Unlike :meth:`settled`, of an abandoned question as well: a reader that
        is late reads what has come behind it together with it. Who asks again comes behind both.
        """
        return self.settled(turn) or self.abandoned_turn >= turn

    def waits_for(self, turn: int) -> bool:
        """True when the agent's code has returned for ``turn``, and left the task waiting.

        While it has not, an AUTH_REQUIRED may be answered out of band (A2A 1.0 section 7.6.1).
        """
        over = self.turn > turn or (self.turn == turn and self.turn_done)
        return over and self.interrupted and self.status_turn >= turn

    @property
    def never_told(self) -> bool:
        """True when the caller got a direct Message, so that no client knows of a task.

        The caller has waited for it as long as the start says; a start that does not say so, a
        further message or a push config means that the task is known.
        """
        request = self.start.request
        if self.reply is None or self.turns > 1 or self.push_revision or wire.WAITS not in request:
            return False
        waits = request[wire.WAITS]
        answered_at = self.task.status.timestamp.ToDatetime(timezone.utc)
        began_at = parse_time(self.start.at).ToDatetime(timezone.utc)
        return waits is None or answered_at - began_at <= timedelta(seconds=waits)

    @property
    def turns(self) -> int:
        """The number of client messages accepted so far."""
        return len(self.accepted)

    @property
    def turns_of_run(self) -> int:
        """How many of them have come to the present run of the task's workflow, one signal each."""
        return self.turns - self.turns_before

    @property
    def turn_over(self) -> bool:
        """True when the current turn needs no (further) attempt of the agent.

        What the task shows does not tell: an older turn may have asked that, or the author's code.
        """
        return self.terminal or self.turn_done

    def set_push_config(self, config: TaskPushNotificationConfig) -> None:
        """Set a push config, or replace the one with its id."""
        self.push_revision += 1
        _put(self.push_configs, config, self.push_revision)

    @property
    def bytes(self) -> int:
        """What the state takes of memory, about."""
        checkpoints = [self.checkpoint, *(source.checkpoint for source in self.sources.values())]
        before = [artifact for each in checkpoints for artifact in each.artifacts.values()]
        content = sum(artifact.ByteSize() for artifact in before if artifact is not None)
        content += self.task.ByteSize()
        return _BYTES + 2 * content + _MESSAGE_BYTES * len(self.accepted)

    def copy(self) -> "LogState":
        """Return what later entries leave as it is; only what :func:`fold` looks at is shared."""
        return replace(
            self,
            task=self.copy_task(),
            accepted=dict(self.accepted),
            approvers=set(self.approvers),
            reports=set(self.reports),
            push_configs=dict(self.push_configs),
            places={},
        )

    def artifact(self, artifact_id: str) -> Artifact | None:
        """Return an artifact of the task, however many there are.

        ``places`` says where each stands; it is made anew where the task has others.
        """
        artifacts, places = self.task.artifacts, self.places
        if len(places) != len(artifacts):
            places.clear()
            for place, each in enumerate(artifacts):
                places.setdefault(each.artifact_id, place)
        found = places.get(artifact_id)
        return None if found is None else artifacts[found]

    def add_artifact(self, artifact: Artifact) -> None:
        """Add an artifact that the task does not have."""
        self.places[artifact.artifact_id] = len(self.task.artifacts)
        self.task.artifacts.append(artifact)

    def copy_task(self) -> Task:
        """Return a Task the caller may keep and change."""
        task = Task()
        task.CopyFrom(self.task)
        return task


def begin(start: TaskStart) -> LogState:
    """Return the state of a task just created, or carried over from its previous run."""
    if start.snapshot is not None:
        return _restore(start, Snapshot.from_json(start.snapshot))
    message = Message()
    message.CopyFrom(start.first_message)
    message.task_id = start.task_id
    message.context_id = start.context_id
    task = Task(
        id=start.task_id,
        context_id=start.context_id,
        status=TaskStatus(state=begins_as(start), timestamp=parse_time(start.at)),
        history=[message],
    )
    state = LogState(start, task, {message.message_id: Accepted(1, digest(message))})
    if start.push_config:
        state.set_push_config(parse_push_config(start.push_config))
    return state


def begins_as(start: TaskStart) -> TaskState:
    """Return the first state of a task: a plain workflow cannot say when it begins to work."""
    return TaskState.TASK_STATE_WORKING if start.plain else TaskState.TASK_STATE_SUBMITTED


def snapshot(state: LogState) -> Snapshot:
    """Return what the next run of the workflow needs to know of ``state`` (continue-as-new)."""
    checkpoint = state.checkpoint
    if state.turn_done:  # nothing of the turn is dropped any more
        # Where it has ended with a question, its words are those in which it may be asked again.
        said = checkpoint.message_ids if checkpoint.asked else set[str]()
        checkpoint = Checkpoint(asked=checkpoint.asked, message_ids=said)
    return Snapshot(
        **state.numbers(),
        task=to_json(state.task),
        accepted={key: [each.turn, each.digest] for key, each in state.accepted.items()},
        approvers=sorted(state.approvers),
        reply=to_json(state.reply) if state.reply is not None else None,
        push_configs=push_configs_to_json(state.push_configs),
        push_revision=state.push_revision,
        entries=state.entries,
        generation=state.generation,
        checkpoint=checkpoint.to_json(),
    )


def _restore(start: TaskStart, carried: Snapshot) -> LogState:
    task = from_json(carried.task, Task())
    said = [*task.history, task.status.message]
    if carried.answers not in INTERRUPTED_STATES:
        carried.answers = None
    return LogState(
        start,
        task,
        {
            key: Accepted(int(turn), str(content))
            for key, (turn, content) in carried.accepted.items()
        },
        **carried.numbers(),
        approvers=set(carried.approvers),
        reports={message.message_id for message in said if is_reserved(message)},
        reply=from_json(carried.reply, Message()) if carried.reply else None,
        push_configs=parse_push_configs(carried.push_configs),
        push_revision=carried.push_revision,
        entries=carried.entries,
        counted=carried.generation,
        turns_before=len(carried.accepted),
        checkpoint=Checkpoint.from_json(carried.checkpoint),
    )


def change_push_configs(
    configs: dict[str, PushConfig], entry: PushConfigEntry, revision: int
) -> int:
    """Set or delete a push config among others, and return the revision there is then."""
    if entry.config is None:
        configs.pop(entry.config_id, None)
        return revision
    full = entry.most is not None and len(configs) >= entry.most
    if full and entry.config_id not in configs:
        return revision
    _put(configs, entry.config, revision + 1)
    return revision + 1


def _put(configs: dict[str, PushConfig], config: TaskPushNotificationConfig, revision: int) -> None:
    known = configs.get(config.id)
    since = known.since if known is not None else revision
    configs[config.id] = PushConfig(config, since, revision)


def push_configs_to_json(configs: dict[str, PushConfig]) -> list[Any]:
    """Return push configs as plain JSON."""
    return [[to_json(push.config), push.since, push.revision] for push in configs.values()]


def parse_push_configs(value: Any) -> dict[str, PushConfig]:
    """Read push configs from plain JSON; what it raises is that of JSON of another shape."""
    configs = [
        PushConfig(parse_push_config(config), int(since), int(revision))
        for config, since, revision in value
    ]
    return {push.config.id: push for push in configs}


def agent_message(text: str, *, message_id: str) -> Message:
    """Return a message of the agent's side with one text part."""
    return Message(message_id=message_id, role=Role.ROLE_AGENT, parts=[Part(text=text)])


def state_name(state: TaskState) -> str:
    """Return a state as search attributes and people write it: ``input-required``."""
    return TaskState.Name(state).removeprefix("TASK_STATE_").lower().replace("_", "-")
