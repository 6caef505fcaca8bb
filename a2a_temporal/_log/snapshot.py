"""The continue-as-new state of a task: what a run hands to the next one, in its ``TaskStart``."""

from dataclasses import dataclass, field, fields
from typing import Any

from a2a.types.a2a_pb2 import TaskState


@dataclass(kw_only=True)
class TurnNumbers:
    """Where the turns of a task stand: turn n is that of the n-th message, 0 is none.

    Attributes:
        turn: The turn of the last batch of agent events that counted.
        attempt: The attempt at that turn which published it.
        sequence: The number of that batch in the attempt.
        turn_done: The agent's code has returned for that turn.
        completed_early: The workflow does not wait for the activity of that turn to complete.
        status_turn: The turn that the present status answers.
        answered_turn: The last turn that ended in a question which a message has answered.
        abandoned_turn: The last turn that ended in a question which was dropped without an answer.
        answers: The state in which the task waited when the message came that set it to work
            again; None once it has another status.
        waited: The milliseconds in which the task has waited for people, up to its present status.
        lost_waiting: The attempts at the turn that were lost while they waited for a person.
    """

    turn: int = 0
    attempt: int = 0
    sequence: int = 0
    turn_done: bool = False
    completed_early: bool = False
    status_turn: int = 0
    answered_turn: int = 0
    abandoned_turn: int = 0
    answers: TaskState | None = None
    waited: int = 0
    lost_waiting: int = 0

    def numbers(self) -> dict[str, Any]:
        """Return all of them by name."""
        return {each.name: getattr(self, each.name) for each in fields(TurnNumbers)}


@dataclass(kw_only=True)
class Snapshot(TurnNumbers):
    """What a run that continues as new knows: plain JSON, with the turn numbers beside the rest.

    Attributes:
        task: The whole Task.
        accepted: For the id of each accepted message its turn and the hash of its content.
        approvers: The people and groups ever asked to decide.
        reply: The direct Message of an agent that answered without making a task.
        push_configs: The push configs that are set, each with ``since`` and ``revision``.
        push_revision: How often one was set.
        entries: How many entries were folded, in all runs.
        generation: The number of the newest stream event.
        checkpoint: What a further attempt at the turn would drop.
        inbox: The id of each message that nobody has handled, and the call that brought it.
        agent_turn: The turn that the agent was given last; 0 once it was given up.
        agent_given_up: The workflow's code has canceled the agent, and has given it no turn since.
        push_child: The number of the delivery workflow, 0 for none.
        requests: What is known of requests to people; none is open.
        first: The workflow's code has not yet let the agent handle the first message.
    """

    task: dict[str, Any]
    accepted: dict[str, list[Any]]
    approvers: list[str] = field(default_factory=list[str])
    reply: dict[str, Any] | None = None
    push_configs: list[Any] = field(default_factory=list[Any])
    push_revision: int = 0
    entries: int = 0
    generation: int = 1
    checkpoint: dict[str, Any] = field(default_factory=dict[str, Any])
    inbox: list[list[Any]] = field(default_factory=list[list[Any]])
    agent_turn: int = 0
    agent_given_up: bool = False
    push_child: int = 0
    requests: dict[str, Any] = field(default_factory=dict[str, Any])
    first: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as the ``snapshot`` of a ``TaskStart``."""
        return dict(vars(self))

    @staticmethod
    def from_json(value: dict[str, Any]) -> "Snapshot":
        """Read the ``snapshot`` of a ``TaskStart``; workflows in other languages give a part of it.

        Raises:
            TypeError, ValueError: A field has no such value, or one that is needed is missing.
        """
        known: dict[str, Any] = {}
        for each in fields(Snapshot):
            if each.name in value:
                given = value[each.name]
                number = isinstance(each.default, int)  # and so is what says yes or no
                known[each.name] = type(each.default)(given) if number else given
        return Snapshot(**known)
