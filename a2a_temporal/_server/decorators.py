"""The SDK's checks of a handler's methods, with the types of the methods kept."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from a2a.server.request_handlers import request_handler as sdk
from a2a.utils.errors import UnsupportedOperationError

_Method = TypeVar("_Method", bound=Callable[..., Any])


def validated(method: _Method) -> _Method:
    """Refuse requests that lack a required field (InvalidParamsError)."""
    return cast("_Method", sdk.validate_request_params(method))


def requires(
    condition: Callable[[Any], bool],
    message: str,
    error: type[Exception] = UnsupportedOperationError,
) -> Callable[[_Method], _Method]:
    """Refuse an operation with ``error`` unless the handler meets a condition."""
    return cast("Callable[[_Method], _Method]", sdk.validate(condition, message, error))
