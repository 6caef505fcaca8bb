"""What the task's workflow, the delivery workflow and its activities pass to each other.

Nothing in here is secret: a config's URL and credentials are read from the log where they are used.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, cast

from a2a_temporal._log.state import LogState
from a2a_temporal._reading.position import LogPosition
from a2a_temporal._worker.push.notifications import End

ATTEMPT_SECONDS = 30
"""An attempt that delivers for this long returns and lets another one go on."""

Configs = dict[str, list[int]]
"""Config id → [since, revision], as :class:`~a2a_temporal._log.state.PushConfig` has them."""


def configs_of(state: LogState) -> Configs:
    """Return the configs that are set, without their contents."""
    return {
        config_id: [push.since, push.revision] for config_id, push in state.push_configs.items()
    }


@dataclass
class Delivery:
    """How far the deliveries to one config have got.

    ``failing_since`` is when its receiver was first found failing, empty while it answers;
    ``given_up`` says why nothing more is sent: what follows ``position`` are its dead letters.
    """

    config_id: str
    since: int
    revision: int
    position: LogPosition
    failing_since: str = ""
    given_up: str = ""


@dataclass(frozen=True)
class PushStart:
    """Input of a delivery workflow.

    ``run_id`` is the run of the task it belongs to; ``previous`` the delivery workflow that hands
    its deliveries over; ``deliveries`` these themselves, where they are known; ``closing`` says
    that the log ends, so that only what is left is delivered.
    """

    task_id: str
    run_id: str
    number: int
    configs: Configs = field(default_factory=dict[str, list[int]])
    previous: str = ""
    deliveries: list[Delivery] = field(default_factory=list[Delivery])
    closing: bool = False
    search_attributes: bool = True


@dataclass(frozen=True)
class PushEnd:
    """Result of a delivery workflow: what the next one begins with."""

    deliveries: list[Delivery] = field(default_factory=list[Delivery])

    @classmethod
    def parse(cls, value: Any) -> "PushEnd":
        """Read it from plain JSON, as the details of a failure hold it."""
        return cls(parse_deliveries(value["deliveries"]))


def parse_deliveries(value: Any) -> list[Delivery]:
    """Read deliveries from plain JSON."""
    deliveries = cast("list[dict[str, Any]]", value)
    return [
        Delivery(**cast("dict[str, Any]", each | {"position": LogPosition(**each["position"])}))
        for each in deliveries
    ]


@dataclass(frozen=True)
class DeliverInput:
    """Input of the activity that delivers: one config, and where to begin."""

    task_id: str
    run_id: str
    config_id: str
    since: int
    position: LogPosition


Outcome = Literal["delivered", "more", "deleted"]


@dataclass(frozen=True)
class DeliverResult:
    """Result of the activity that delivers.

    ``delivered``: everything the log holds. ``more``: the attempt had taken long enough, or the
    receiver took some and then failed. ``deleted``: the config is no longer set. ``closed`` are the
    configs at the end of the log, where everything up to that end is delivered and the task goes on
    in no other run.
    """

    outcome: Outcome
    position: LogPosition
    closed: Configs | None = None


@dataclass(frozen=True)
class LogEnd:
    """The configs at the present end of the log, and what kind of end it is."""

    configs: Configs
    end: End
