"""Tell an outage of what stores or decodes payloads, which passes, from what is gone for good.

Storage drivers and payload codecs are the user's choice and raise what their libraries raise, often
wrapped. None of those libraries is imported here: their errors are known by where they come from.
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
_GONE = (404, 410)


def is_outage(error: BaseException) -> bool:
    """True when an error, or one that led to it, says that another service does not answer now.

    That such a service has answered, and has nothing of that name, is no outage.
    """
    return any(_says_so(each) for each in _led_to(error))


def _says_so(error: BaseException) -> bool:
    if isinstance(error, _HERE) or _status(error) in _GONE:
        return False
    return isinstance(error, _OUTAGES) or _of_a_service(error)


def _of_a_service(error: BaseException) -> bool:
    modules = [f"{each.__module__}." for each in type(error).__mro__]
    return any(each.startswith(_SERVICES) and not each.startswith(_NO_SERVICE) for each in modules)


def _status(error: BaseException) -> int:
    """Return the HTTP status a service has answered with; 0 where its library says none."""
    response: Any = getattr(error, "response", None)
    found: Any = getattr(response, "status_code", None)
    if isinstance(response, dict):  # as botocore has it
        metadata: Any = cast("dict[str, Any]", response).get("ResponseMetadata")
        found = metadata.get("HTTPStatusCode") if metadata else None
    found = found or getattr(error, "status", None) or getattr(error, "code", None)
    return found if isinstance(found, int) else 0


def _led_to(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all those before it, each once."""
    seen: set[int] = set()
    open_ends: list[BaseException | None] = [error]
    while open_ends:
        each = open_ends.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            open_ends += [each.__cause__, each.__context__]
            yield each
