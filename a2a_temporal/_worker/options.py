"""How the agent's code is run."""

from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from temporalio import workflow

OPTIONS_FUNCTION = "a2a_agent_options"
"""Extern function through which the plugin hands its ``AgentOptions`` to workflows."""


@dataclass(frozen=True)
class AgentOptions:
    """Limits and rhythm of an agent's turns.

    Attributes:
        turn_timeout: The longest a turn may work, all its attempts together; then it is stopped as
            by a cancel, and the task FAILS. Time in which the task waits for a person, or has no
            worker, does not count.
        maximum_attempts: How often a turn is tried in all when workers are lost or the agent
            raises ``RetryableError``. 1 means that a crash fails the task. A worker that is told to
            stop hands its turn over, which is no attempt that counts; neither is one whose worker
            was lost while the task waited for a person.
        retry_interval: The pause before the second attempt; it doubles from there, to one minute;
            one of a minute or more stays as it is.
        heartbeat_interval: How often the wrapper heartbeats, hence how soon a cancel reaches the
            agent's code. The first beat comes after half of it.
        heartbeat_timeout: After this silence a worker counts as lost and another attempt starts.
        batch_interval: Artifact chunks and reports of progress published within this time travel in
            one entry. It grows with the number of entries of a turn, so that a day of streaming
            fits into one history. The first thousand changes of state in an attempt do not wait.
        cancel_timeout: The longest ``AgentExecutor.cancel()`` may take, and the longest a cancel
            waits for an activity that may never hear of it.
        continue_as_new_after: Events of history after which the next run of the workflow takes
            over between two turns; ``None`` leaves it to Temporal's own advice.
    """

    turn_timeout: timedelta = timedelta(hours=1)
    maximum_attempts: int = 5
    retry_interval: timedelta = timedelta(seconds=1)
    heartbeat_interval: timedelta = timedelta(seconds=1)
    heartbeat_timeout: timedelta = timedelta(seconds=10)
    batch_interval: timedelta = timedelta(milliseconds=50)
    cancel_timeout: timedelta = timedelta(seconds=10)
    continue_as_new_after: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, timedelta) and value <= timedelta(0):
                raise ValueError(f"AgentOptions.{name} must be positive, got {value!r}.")
        if self.maximum_attempts < 1:
            raise ValueError(
                "AgentOptions.maximum_attempts must be at least 1 (a retry without limit would "
                f"keep a failing task WORKING for ever), got {self.maximum_attempts!r}."
            )
        if self.heartbeat_timeout < 2 * self.heartbeat_interval:
            raise ValueError(
                "AgentOptions.heartbeat_timeout must be at least twice heartbeat_interval, got "
                f"{self.heartbeat_timeout!r} and {self.heartbeat_interval!r}."
            )


def agent_options() -> AgentOptions:
    """Return the options of the worker that runs the calling workflow."""
    return cast("AgentOptions", workflow.extern_functions()[OPTIONS_FUNCTION]())
