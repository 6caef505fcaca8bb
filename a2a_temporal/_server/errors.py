"""The A2A error that a client gets for whatever goes wrong: the one place that decides.

Temporal's errors are mapped where an operation begins (``operation.py``). The transports mask all
other exceptions: the SDK's JSON-RPC dispatcher puts the text of any into its answer.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from typing import Any, TypeVar, cast

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler
from a2a.utils.errors import (
    A2A_ERROR_MAPPING,
    A2A_ERROR_REASONS,
    A2AError,
    ErrorMapping,
    InternalError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import is_missing_workflow, is_retryable, lacks_attributes
from a2a_temporal._log import wire
from a2a_temporal._reading.decode import LogUnreadableError

logger = logging.getLogger("a2a_temporal.server")

_T = TypeVar("_T")

_SHOWN_ID = 200

UNAVAILABLE = "The service is temporarily unavailable. Please try again."
TOO_LARGE = "The message is too large to be stored."
FULL = (
    "The task has had as many messages and events as Temporal takes during one turn. Send this "
    "when its agent has answered."
)


class UnavailableError(InternalError):
    """A temporary failure: the same call may succeed later (A2A 1.0, section 3.3.2).

    HTTP 503, gRPC UNAVAILABLE, JSON-RPC -32603 with the reason SERVICE_UNAVAILABLE.
    """

    message = UNAVAILABLE


# The SDK maps exact classes by these tables. JSON-RPC gives a class it does not know -32603.
A2A_ERROR_MAPPING[UnavailableError] = ErrorMapping(503, "UNAVAILABLE", "SERVICE_UNAVAILABLE")
A2A_ERROR_REASONS[UnavailableError] = "SERVICE_UNAVAILABLE"

# Repeating the call changes nothing about these.
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
    """Log an unexpected error and return one that names nothing but a reference to the log."""
    reference = uuid.uuid4().hex[:12]
    logger.error("unexpected error in %s, reference %s", where, reference, exc_info=error)
    return InternalError(message=f"Internal error (reference {reference})")


def not_found(task_id: str = "") -> TaskNotFoundError:
    """Return the one error for everything that is no task of a caller, whatever the reason."""
    if not task_id:
        return TaskNotFoundError()
    shown = task_id if len(task_id) <= _SHOWN_ID else f"{task_id[:_SHOWN_ID]}…"
    return TaskNotFoundError(f"Task not found: {shown}")


@contextlib.contextmanager
def errors_of_temporal() -> Generator[None]:
    """Turn an error of Temporal in this block into the A2A error that the client gets.

    Raises:
        TaskNotFoundError: The workflow does not exist.
        InvalidParamsError: Temporal refused the size of a payload.
        UnsupportedOperationError: The workflow's run has had as many signals as Temporal takes.
        UnavailableError: Temporal does not answer now; the details are in the log.
        InternalError: Temporal refused the call for good; the text names a reference in the log.
    """
    try:
        yield
    except RPCError as error:
        raise _of_call(error) from error
    except LogUnreadableError as error:
        raise UnavailableError from error
    except (RuntimeError, ConnectionError, OSError, asyncio.TimeoutError) as error:
        logger.error(
            "Temporal, or its storage, cannot be reached: %s", str(error) or "no answer in time"
        )
        raise UnavailableError from error


def _of_call(error: RPCError) -> A2AError:
    if is_missing_workflow(error):
        return not_found()
    too_large = "size" in error.message and "limit" in error.message
    if error.status == RPCStatusCode.INVALID_ARGUMENT and too_large:
        return InvalidParamsError(TOO_LARGE)
    if wire.OUT_OF_SIGNALS in error.message:
        return UnsupportedOperationError(FULL)
    if error.status in _PERMANENT and not lacks_attributes(error):
        return internal_error(error, where="a call to Temporal")
    logger.error("Temporal answered %s: %s", error.status.name, error.message)
    return UnavailableError()


def is_passing(error: BaseException) -> bool:
    """True when the same call may succeed later."""
    if isinstance(error, RPCError):
        return is_retryable(error)
    return isinstance(error, (RuntimeError, ConnectionError, OSError, asyncio.TimeoutError))


# ------------------------------------------------------------------- masking


async def masked(call: Awaitable[_T], *, where: str) -> _T:
    """Await a call; whatever it raises is an A2A error."""
    try:
        return await call
    except A2AError:
        raise
    except Exception as error:
        raise internal_error(error, where=where) from error


async def masked_stream(events: AsyncGenerator[_T], *, where: str) -> AsyncGenerator[_T]:
    """Yield events; whatever ends them is an A2A error."""
    try:
        async for event in events:
            yield event
    except A2AError:
        raise
    except Exception as error:
        raise internal_error(error, where=where) from error
    finally:
        await events.aclose()


def masked_handler(handler: RequestHandler, **instead: Callable[..., Any]) -> RequestHandler:
    """Return a handler that serves the same calls and raises nothing but A2A errors.

    Args:
        handler: Serves the calls.
        instead: Methods that take the place of the handler's, by their names.
    """
    methods = {
        name: staticmethod(_masked_method(name, instead.get(name) or getattr(handler, name)))
        for name in dir(RequestHandler)
        if name.startswith("on_")
    }
    return cast("RequestHandler", type("MaskedHandler", (RequestHandler,), methods)())


def _masked_method(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def masking(params: Any, context: ServerCallContext) -> Any:
        made = method(params, context)
        mask: Callable[..., Any] = masked_stream if hasattr(made, "__aiter__") else masked
        return mask(made, where=name)

    return masking


# --------------------------------------------- a payload that cannot be read

# Storage drivers and payload codecs are the user's choice and raise what their libraries raise,
# often wrapped. None of those libraries is imported here: their errors are known by where they come
# from, and by the status that a service has answered with.

_OUTAGES = (OSError, TimeoutError, asyncio.TimeoutError)  # a ConnectionError is an OSError
_LOCAL_FILES = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
_SERVICES = (
    "aiobotocore.",
    "aiohttp.",
    "azure.",
    "botocore.",
    "google.",
    "grpc.",
    "httpcore.",
    "httpx.",
    "urllib3.",
)
_NO_SERVICE = "google.protobuf."  # its errors are about the content of a payload
# Refusals that somebody sees to: the caller is not permitted, or asks too often.
_NOT_NOW = (401, 403, 407, 408, 425, 429)
_NOT_NOW_OF_AWS = ("Throttl", "TooMany", "Limit", "Expired")  # these come as 400
_GONE_OF_AWS = "InvalidObjectState"  # archived; it comes as 403
_GONE_OF_GRPC = (
    "NOT_FOUND",
    "INVALID_ARGUMENT",
    "FAILED_PRECONDITION",
    "OUT_OF_RANGE",
    "DATA_LOSS",
)


def is_unreadable(error: BaseException | None) -> bool:
    """True when a log cannot be read here, now or later: its key or file is not here."""
    return isinstance(error, LogUnreadableError) and not is_outage(error)


def why_unreadable(error: LogUnreadableError) -> BaseException:
    """Return the error that says why a log cannot be read: a codec's own, or that there is none."""
    return error if isinstance(error.__cause__, KeyError) else error.__cause__ or error


def is_outage(error: BaseException) -> bool:
    """True when an error says that a storage or key service does not answer now.

    Of an error and its causes, the first that tells of a service counts. A service that answers
    that it has nothing of that name, or cannot decode it, has no outage.
    """
    found = (_tells_outage(each) for each in _causes(error))
    return next((each for each in found if each is not None), False)


def _tells_outage(error: BaseException) -> bool | None:
    """Return whether an error is an outage; ``None`` where it tells nothing of a service."""
    if isinstance(error, _LOCAL_FILES) or _is_final_refusal(error):
        return False
    return True if isinstance(error, _OUTAGES) or _is_of_a_service(error) else None


def _is_of_a_service(error: BaseException) -> bool:
    modules = [f"{each.__module__}." for each in type(error).__mro__]
    return any(each.startswith(_SERVICES) and not each.startswith(_NO_SERVICE) for each in modules)


def _is_final_refusal(error: BaseException) -> bool:
    """True when a service has answered, and would answer the same again."""
    code = _aws_code(error)
    if code:
        if code.startswith(_GONE_OF_AWS):
            return True
        if any(each in code for each in _NOT_NOW_OF_AWS):
            return False
    status = _status(error)
    if isinstance(status, int):
        return 400 <= status < 500 and status not in _NOT_NOW
    return getattr(status, "name", "") in _GONE_OF_GRPC


def _aws_code(error: BaseException) -> str:
    response = getattr(error, "response", None)
    if not isinstance(response, dict):
        return ""
    about: Any = cast("dict[str, Any]", response).get("Error")
    return str(cast("dict[str, Any]", about).get("Code", "")) if isinstance(about, dict) else ""


def _status(error: BaseException) -> Any:
    """Return the status that a service has answered with, of HTTP (a number) or gRPC."""
    response: Any = getattr(error, "response", None)
    found: Any = getattr(response, "status_code", None)
    if isinstance(response, dict):  # as botocore has it
        metadata: Any = cast("dict[str, Any]", response).get("ResponseMetadata")
        found = metadata.get("HTTPStatusCode") if metadata else None
    found = found or getattr(error, "status", None) or getattr(error, "code", None)
    return found() if callable(found) else found  # as grpc has it


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all those before it, each once, its cause first."""
    seen: set[int] = set()
    open_ends: list[BaseException | None] = [error]
    while open_ends:
        each = open_ends.pop(0)
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            open_ends += [each.__cause__, each.__context__]
            yield each
