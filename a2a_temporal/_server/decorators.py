"""The SDK's checks of a handler's methods, with the types of the methods kept."""

import functools
import inspect
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeVar, cast

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import request_handler as sdk
from a2a.types.a2a_pb2 import SendMessageRequest
from a2a.utils.errors import UnsupportedOperationError

from a2a_temporal._aside import done
from a2a_temporal._server.checks import check_values
from a2a_temporal._server.required import check_required

_Method = TypeVar("_Method", bound=Callable[..., Any])


def validated(method: _Method) -> _Method:
    """Refuse requests that hold too much or lack a required field (InvalidParamsError)."""
    if inspect.isasyncgenfunction(method):

        @functools.wraps(method)
        async def stream(self: Any, params: Any, context: ServerCallContext) -> AsyncGenerator[Any]:
            await _check(self, params)
            events: AsyncGenerator[Any] = method(self, params, context)
            try:
                async for event in events:
                    yield event
            finally:
                await events.aclose()

        return cast("_Method", stream)

    @functools.wraps(method)
    async def answer(self: Any, params: Any, context: ServerCallContext) -> Any:
        await _check(self, params)
        return await method(self, params, context)

    return cast("_Method", answer)


async def _check(handler: Any, params: Any) -> None:
    if isinstance(params, SendMessageRequest):
        check_values(params, handler.options.maximum_message_values)
    await done(params.ByteSize(), check_required, params)


def requires(
    condition: Callable[[Any], bool],
    message: str,
    error: type[Exception] = UnsupportedOperationError,
) -> Callable[[_Method], _Method]:
    """Refuse an operation with ``error`` unless the handler meets a condition."""
    return cast("Callable[[_Method], _Method]", sdk.validate(condition, message, error))
