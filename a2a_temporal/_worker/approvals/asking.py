"""What those methods of a ``TaskRun`` return that have to be awaited.

``if self.task.require_approval(...)`` without ``await`` would run the "yes" branch, and nobody
would have been asked.
"""

from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from temporalio.exceptions import ApplicationError

T = TypeVar("T")


class Asking(Coroutine[Any, Any, T]):
    """A coroutine that begins when it is awaited, and reports when it never is.

    Args:
        name: The method that has made it.
        code: Makes what is awaited.
        lost: Told when it is dropped without having been awaited.
    """

    def __init__(
        self,
        name: str,
        code: Callable[[], Coroutine[Any, Any, T]],
        lost: Callable[[ApplicationError], None],
    ) -> None:
        self._name = name
        self._code = code
        self._lost = lost
        self._begun: Coroutine[Any, Any, T] | None = None

    @property
    def awaited(self) -> bool:
        """True once somebody waits for it, or has."""
        return self._begun is not None

    def never_awaited(self) -> ApplicationError:
        """Return the failure of a task whose code has forgotten to await."""
        return ApplicationError(
            f"{self._name}() was called without await, so nobody was asked and nothing was done. "
            f"Write: await self.task.{self._name}(...)",
            type="NeverAwaited",
            non_retryable=True,
        )

    def send(self, value: Any) -> Any:
        """Go on."""
        return self._running().send(value)

    def throw(
        self,
        typ: Any,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
    ) -> Any:
        """Raise in it, as a cancel does."""
        if val is None and tb is None:
            return self._running().throw(typ)
        return self._running().throw(typ, val, tb)

    def close(self) -> None:
        """End it."""
        self._running().close()

    def __await__(self) -> Generator[Any, Any, T]:
        """Begin, and wait for what comes of it."""
        return self._running().__await__()

    def __bool__(self) -> NoReturn:
        """Refuse to be taken for an answer, whatever code makes of that."""
        if self._begun is None:
            self._lost(self.never_awaited())
        raise TypeError(str(self.never_awaited()))

    def __del__(self) -> None:
        """Report that nobody has waited."""
        if self._begun is None:
            self._lost(self.never_awaited())

    def _running(self) -> Coroutine[Any, Any, T]:
        if self._begun is None:
            self._begun = self._code()
        return self._begun
