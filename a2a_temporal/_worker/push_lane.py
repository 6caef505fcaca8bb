"""What the task's workflow, the delivery workflow and its activities tell each other.

Nothing in here is secret: a config's URL and credentials are read from the log where they are used.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, cast

from a2a_temporal._log.state import LogState
from a2a_temporal._worker.push_log import End, Position

ATTEMPT_SECONDS = 30
"""An attempt that delivers for this long returns and lets another one go on."""

Configs = dict[str, list[int]]
"""Config id → [since, revision], as :class:`~a2a_temporal._log.state.PushConfig` has them."""


def configs_of(state: LogState) -> Configs:
    """Return the configs that are set, without what is in them."""
    return {
        config_id: [push.since, push.revision] for config_id, push in state.push_configs.items()
    }


@dataclass
class Lane:
    """How far the deliveries to one config have got.

    ``failing_since`` is when its receiver was first found failing, empty while it answers;
    ``given_up`` says why nothing more is sent: what follows ``position`` are its dead letters.
    """

    config_id: str
    since: int
    revision: int
    position: Position
    failing_since: str = ""
    given_up: str = ""


@dataclass(frozen=True)
class PushStart:
    """Input of a delivery workflow.

    ``run_id`` is the run of the task it belongs to; ``previous`` the delivery workflow that hands
    its lanes over; ``lanes`` the lanes themselves, where they are known; ``closing`` says that the
    log ends, so that only what is left is delivered.
    """

    task_id: str
    run_id: str
    number: int
    configs: Configs = field(default_factory=dict[str, list[int]])
    previous: str = ""
    lanes: list[Lane] = field(default_factory=list[Lane])
    closing: bool = False
    search_attributes: bool = True


@dataclass(frozen=True)
class PushEnd:
    """Result of a delivery workflow: what its successor begins with."""

    lanes: list[Lane] = field(default_factory=list[Lane])

    @classmethod
    def parse(cls, value: Any) -> "PushEnd":
        """Read it from plain JSON, as the details of a failure hold it."""
        return cls(parse_lanes(value["lanes"]))


def parse_lanes(value: Any) -> list[Lane]:
    """Read lanes from plain JSON."""
    lanes = cast("list[dict[str, Any]]", value)
    return [
        Lane(**cast("dict[str, Any]", lane | {"position": Position(**lane["position"])}))
        for lane in lanes
    ]


@dataclass(frozen=True)
class Delivery:
    """Input of the delivery activity: one config, and where to begin."""

    task_id: str
    run_id: str
    config_id: str
    since: int
    position: Position
    closing: bool = False


Outcome = Literal["delivered", "more", "failed", "busy", "deleted"]


@dataclass(frozen=True)
class Delivered:
    """Result of the delivery activity.

    ``delivered``: everything the log holds. ``more``: the attempt had taken long enough.
    ``failed``: the receiver took some and then failed. ``busy``: this worker already waits for too
    many receivers. ``deleted``: the config is no longer set. ``closed`` are the configs at the end
    of the log, where everything up to that end is delivered and the task goes on in no other run.
    """

    outcome: Outcome
    position: Position
    closed: Configs | None = None


@dataclass(frozen=True)
class Question:
    """Input of the survey: how does the log go on after the delivery workflow's own run?"""

    task_id: str
    run_id: str
    number: int


@dataclass(frozen=True)
class Survey:
    """The configs at the present end of the log, and what kind of end it is."""

    configs: Configs
    end: End
