"""The beginning of every operation: validation, a capability of the card, a deadline."""

import contextlib
import functools
import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Protocol, TypeVar, cast

from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import AgentCard, SendMessageRequest
from a2a.utils.errors import PushNotificationNotSupportedError, UnsupportedOperationError

from a2a_temporal._aside import done
from a2a_temporal._gateway import with_deadline
from a2a_temporal._server.errors import errors_of_temporal
from a2a_temporal._server.options import HandlerOptions
from a2a_temporal._server.validation import check_required, check_values

_T = TypeVar("_T")
_Method = TypeVar("_Method", bound=Callable[..., Any])


class _Handler(Protocol):
    options: HandlerOptions
    agent_card: AgentCard


def operation(*, needs: str = "", bounded: bool = True) -> Callable[[_Method], _Method]:
    """Make a method of the handler an operation.

    A request without a required field, or with too many values, is refused (InvalidParamsError).
    Errors of Temporal become A2A errors. An operation takes ``HandlerOptions.answered_within`` at
    most; one that then waits for the agent has that bound on its first part (see :func:`entered`).

    Args:
        needs: The capability of the card without which the operation is refused.
        bounded: False where the method bounds its parts by itself, as each stream does.
    """

    def decorate(method: _Method) -> _Method:
        if inspect.isasyncgenfunction(method):

            @functools.wraps(method)
            async def stream(
                self: Any, params: Any, context: ServerCallContext
            ) -> AsyncGenerator[Any]:
                await _check(self, params, needs)
                with errors_of_temporal():
                    async with contextlib.aclosing(method(self, params, context)) as events:
                        async for event in events:
                            yield event

            return cast("_Method", stream)

        @functools.wraps(method)
        async def answer(self: Any, params: Any, context: ServerCallContext) -> Any:
            await _check(self, params, needs)
            with errors_of_temporal():
                call = method(self, params, context)
                if bounded:
                    call = with_deadline(self.options.answered_within, call)
                return await call

        return cast("_Method", answer)

    return decorate


@contextlib.asynccontextmanager
async def entered(limit: timedelta, context: AbstractAsyncContextManager[_T]) -> AsyncGenerator[_T]:
    """Enter a context within a limit, which does not hold for its body.

    Raises:
        asyncio.TimeoutError: The limit passed.
    """
    async with contextlib.AsyncExitStack() as stack:
        yield await with_deadline(limit, stack.enter_async_context(context))


async def _check(handler: _Handler, params: Any, needs: str) -> None:
    if isinstance(params, SendMessageRequest):
        check_values(params, handler.options.maximum_message_values)
    await done(params.ByteSize(), check_required, params)
    if needs and not getattr(handler.agent_card.capabilities, needs):
        error = (
            PushNotificationNotSupportedError
            if needs == "push_notifications"
            else UnsupportedOperationError
        )
        raise error(f"The agent card says capabilities.{needs} = false.")
