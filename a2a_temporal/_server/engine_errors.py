"""What Temporal's errors mean to an A2A client: the one place that decides.

Temporal's codes are ambiguous: NOT_FOUND is an unknown workflow, a closed one or a missing
namespace; timeouts arrive as CANCELLED; a lazy client raises RuntimeError when it cannot connect.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TypeVar

from a2a.utils.errors import (
    A2A_ERROR_MAPPING,
    A2A_ERROR_REASONS,
    ErrorMapping,
    InternalError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import (
    is_missing_workflow,
    is_retryable,
    lacks_attributes,
    with_deadline,
)
from a2a_temporal._log import wire
from a2a_temporal._log.payloads import LogUnreadableError
from a2a_temporal._server.outages import is_outage

logger = logging.getLogger("a2a_temporal.server")

_T = TypeVar("_T")

_SHOWN_ID = 200

UNAVAILABLE = "The service is temporarily unavailable. Please try again."


class UnavailableError(InternalError):
    """A temporary failure: the same call may succeed later (A2A 1.0, section 3.3.2).

    HTTP 503, gRPC UNAVAILABLE, JSON-RPC -32603 with the reason SERVICE_UNAVAILABLE.
    """

    message = UNAVAILABLE


# The SDK maps exact classes by these tables. JSON-RPC gives a class it does not know -32603.
A2A_ERROR_MAPPING[UnavailableError] = ErrorMapping(503, "UNAVAILABLE", "SERVICE_UNAVAILABLE")
A2A_ERROR_REASONS[UnavailableError] = "SERVICE_UNAVAILABLE"

TOO_LARGE = "The message is too large to be stored."
FULL = (
    "The task has had as many messages and events as Temporal takes during one turn. Send this "
    "when its agent has answered."
)

SHOWN_WITHIN = timedelta(seconds=9)
"""How long what was signaled is waited for in the history.

A signal that comes during a workflow task shows when that is over; one of a killed worker runs out
after 10 s.
"""

# Of what these say, nothing changes when the call is repeated.
_PERMANENT = frozenset(
    {
        RPCStatusCode.INVALID_ARGUMENT,
        RPCStatusCode.ALREADY_EXISTS,
        RPCStatusCode.OUT_OF_RANGE,
        RPCStatusCode.UNIMPLEMENTED,
        RPCStatusCode.DATA_LOSS,
    }
)


def internal_error(error: BaseException, *, where: str) -> InternalError:
    """Log an unexpected error and return what the client may read of it."""
    reference = uuid.uuid4().hex[:12]
    logger.error("unexpected error in %s, reference %s", where, reference, exc_info=error)
    return InternalError(message=f"Internal error (reference {reference})")


def is_passing(error: BaseException) -> bool:
    """True when the same call may succeed later."""
    if isinstance(error, RPCError):
        return is_retryable(error)
    return isinstance(error, (RuntimeError, ConnectionError, OSError, asyncio.TimeoutError))


def is_unreadable(error: BaseException | None) -> bool:
    """True when what a log holds cannot be read here, now or later: its key or file is not here."""
    return isinstance(error, LogUnreadableError) and not is_outage(error)


def not_found(task_id: str) -> TaskNotFoundError:
    """Return the one error for all that is no task of a caller, whatever the reason."""
    if not task_id:
        return TaskNotFoundError()
    shown = task_id if len(task_id) <= _SHOWN_ID else f"{task_id[:_SHOWN_ID]}…"
    return TaskNotFoundError(f"Task not found: {shown}")


def why_unreadable(error: LogUnreadableError) -> BaseException:
    """Return the error that says why a log cannot be read: a codec's own, or that there is none."""
    return error if isinstance(error.__cause__, KeyError) else error.__cause__ or error


@asynccontextmanager
async def engine_errors(task_id: str = "") -> AsyncGenerator[None]:
    """Turn what Temporal raises in this block into the A2A error the client gets.

    Args:
        task_id: The task that this is about.

    Raises:
        TaskNotFoundError: The workflow does not exist.
        InvalidParamsError: Temporal refused the size of what was to be stored.
        UnsupportedOperationError: The workflow's run has had as many signals as Temporal takes.
        UnavailableError: Temporal does not answer now; the details are in the log.
        InternalError: Temporal refused the call for good; the text names a reference in the log.
    """
    try:
        yield
    except RPCError as error:
        if is_missing_workflow(error):
            raise not_found(task_id) from error
        too_large = "size" in error.message and "limit" in error.message
        if error.status == RPCStatusCode.INVALID_ARGUMENT and too_large:
            raise InvalidParamsError(TOO_LARGE) from error
        if wire.OUT_OF_SIGNALS in error.message:
            raise UnsupportedOperationError(FULL) from error
        if error.status in _PERMANENT and not lacks_attributes(error):
            raise internal_error(error, where="a call to Temporal") from error
        logger.error("Temporal answered %s: %s", error.status.name, error.message)
        raise UnavailableError from error
    except LogUnreadableError as error:
        logger.error("Task %s cannot be read here: %s", task_id, why_unreadable(error))
        raise UnavailableError from error
    except (RuntimeError, ConnectionError, OSError, asyncio.TimeoutError) as error:
        logger.error(
            "Temporal, or its storage, cannot be reached: %s", error or "no answer in time"
        )
        raise UnavailableError from error


async def answered(limit: timedelta, call: Awaitable[_T]) -> _T:
    """Await what makes an operation's answer, or first word, for at most ``limit`` in all.

    Each call to Temporal has a bound of its own, but an operation makes several.

    Raises:
        UnavailableError: The bound passed, or Temporal cannot be reached.
    """
    async with engine_errors():
        return await with_deadline(limit, call)
