"""Errors an agent or a workflow may raise on purpose, and the error types seen in Temporal.

    Exception
    ├── PublicError              the task FAILS and the client reads the text
    ├── RetryableError           the attempt is run again, a finite number of times
    ├── ConnectionSettingsError  connect(): a TEMPORAL_* setting is wrong; trying again is no use
    └── ConnectionError
        └── TemporalUnreachableError  connect(): Temporal does not answer; trying again may help

Anything else an agent raises fails the task with a generic text and a correlation id; the details
stay in the worker's log and in the Temporal failure.
"""

from typing import Final

__all__ = [
    "PublicError",
    "RetryableError",
    "ConnectionSettingsError",
    "TemporalUnreachableError",
]


class PublicError(Exception):
    """Fail the task with a text that the client may read.

    Args:
        text: Shown to the client as it is. Never put secrets or internals into it.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class RetryableError(Exception):
    """Ask for another attempt of this turn (``AgentOptions.maximum_attempts`` in all).

    Raised by the last attempt, it fails the task like any other exception.
    """


class ConnectionSettingsError(Exception):
    """A setting of the connection to Temporal is wrong; the text names it and the way to fix it.

    Args:
        setting: The environment variable that a user would correct.
        text: One line, without any secret.
    """

    def __init__(self, setting: str, text: str) -> None:
        super().__init__(text)
        self.setting = setting


class TemporalUnreachableError(ConnectionError):
    """Temporal does not answer at its address. It may be down: trying again may help."""


AGENT_FAILED: Final = "a2a.AgentFailed"
"""ApplicationError type: the agent raised; details = [public text or None, correlation id]."""

AGENT_RETRY: Final = "a2a.AgentRetry"
"""ApplicationError type: the agent raised RetryableError; details as AGENT_FAILED."""

WORKER_SHUTDOWN: Final = "a2a.WorkerShutdown"
"""ApplicationError type: the worker stopped under a running turn; another attempt follows."""

REQUEST_EXPIRED: Final = "a2a.RequestExpired"
"""ApplicationError type: nobody answered a request in time, and that fails the task."""

PUSH_FAILED: Final = "a2a.PushFailed"
"""ApplicationError type: a receiver did not take a push notification; another attempt follows."""

PUSH_GIVEN_UP: Final = "a2a.PushGivenUp"
"""ApplicationError type a delivery workflow closes with when it keeps dead letters; details = [its
lanes]. Also of an attempt after which no other is of use."""

TASK_FAILED: Final = "a2a.TaskFailed"
"""ApplicationError type a task's workflow closes with when the A2A state is FAILED."""
