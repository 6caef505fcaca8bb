"""Tell an outage of what stores or decodes payloads, which passes, from what is gone for good.

Storage drivers and payload codecs are the user's choice and raise what their libraries raise, often
wrapped. None of those libraries is imported here: their errors are known by where they come from,
and by the status that a service has answered with.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

_OUTAGES = (OSError, TimeoutError, asyncio.TimeoutError)  # a ConnectionError is an OSError
_HERE = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
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
_NO_SERVICE = "google.protobuf."  # whose errors are about what a payload holds
# Of the answers that say no, those that somebody sees to: the caller may not, or asks too often.
_NOT_NOW = (401, 403, 407, 408, 425, 429)
_NOT_NOW_OF_AWS = ("Throttl", "TooMany", "Limit", "Expired")  # which come as 400
_GONE_OF_AWS = "InvalidObjectState"  # archived; it comes as 403
_GONE_OF_GRPC = (
    "NOT_FOUND",
    "INVALID_ARGUMENT",
    "FAILED_PRECONDITION",
    "OUT_OF_RANGE",
    "DATA_LOSS",
)


def is_outage(error: BaseException) -> bool:
    """True when an error says that another service does not answer now.

    Of an error and those that led to it, the first that says anything of the kind counts. That a
    service has answered, and has nothing of that name or cannot decode it, is no outage.
    """
    said = (_says_outage(each) for each in _led_to(error))
    return next((each for each in said if each is not None), False)


def _says_outage(error: BaseException) -> bool | None:
    """Return whether an error is an outage; ``None`` where it says nothing of a service."""
    if isinstance(error, _HERE) or _answered_no(error):
        return False
    return True if isinstance(error, _OUTAGES) or _of_a_service(error) else None


def _of_a_service(error: BaseException) -> bool:
    modules = [f"{each.__module__}." for each in type(error).__mro__]
    return any(each.startswith(_SERVICES) and not each.startswith(_NO_SERVICE) for each in modules)


def _answered_no(error: BaseException) -> bool:
    """Say whether a service has answered, and would answer the same again."""
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
    """Return what a service has answered with: a number of HTTP, or a status of gRPC."""
    response: Any = getattr(error, "response", None)
    found: Any = getattr(response, "status_code", None)
    if isinstance(response, dict):  # as botocore has it
        metadata: Any = cast("dict[str, Any]", response).get("ResponseMetadata")
        found = metadata.get("HTTPStatusCode") if metadata else None
    found = found or getattr(error, "status", None) or getattr(error, "code", None)
    return found() if callable(found) else found  # as grpc has it


def _led_to(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all those before it, each once, what caused it first."""
    seen: set[int] = set()
    open_ends: list[BaseException | None] = [error]
    while open_ends:
        each = open_ends.pop(0)
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            open_ends += [each.__cause__, each.__context__]
            yield each
