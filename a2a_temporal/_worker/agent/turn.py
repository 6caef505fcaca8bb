"""One turn of an agent: its input, what code may ask about it, and its cancel."""

import asyncio
import contextlib
import contextvars
import uuid
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

_NAMESPACE = uuid.UUID("7f0d3a0e-6a43-5a52-9d39-0f8f2f0b6a11")


@dataclass(frozen=True)
class TurnInput:
    """The argument of the agent activities, as plain JSON in the workflow's history.

    ``attempt`` and ``sequence`` say where the turn's events end so far; only the cancel hook of a
    parked task, which speaks after an attempt that is over, goes on from there. ``run_id`` is the
    run that began the turn; another one runs it after a reset. ``earlier_attempts`` were made at
    the turn by activities before this one, which have ``worked`` so many seconds. The task had
    ``waited`` so many milliseconds for people when the turn was begun.
    """

    task_id: str
    context_id: str
    turn: int
    message: dict[str, Any]
    request: dict[str, Any] = field(default_factory=dict[str, Any])
    tenant: str = ""
    attempt: int = 0
    sequence: int = 0
    run_id: str = ""
    earlier_attempts: int = 0
    worked: float = 0.0
    waited: int = 0


@dataclass(frozen=True)
class Turn:
    """The turn that is running: the n-th message of a task, and which attempt at it this is.

    ``attempt`` starts at 1 and grows when a worker was lost or the agent asked for a retry.
    """

    task_id: str
    context_id: str
    turn: int
    attempt: int

    def idempotency_key(self, step: str) -> str:
        """Return a UUID that is the same in every attempt of this turn and nowhere else.

        Hand it to whatever must not happen twice: a payment provider, a mail gateway.

        Args:
            step: Name of the effect within the turn.
        """
        return str(uuid.uuid5(_NAMESPACE, f"{self.task_id}/{self.turn}/{step}"))


_current: contextvars.ContextVar[Turn] = contextvars.ContextVar("a2a_turn")


def current_turn() -> Turn:
    """Return the turn that the calling agent code runs in.

    Raises:
        RuntimeError: Called outside an agent's ``execute`` or ``cancel``.
    """
    try:
        return _current.get()
    except LookupError:
        raise RuntimeError(
            "current_turn() was called outside a running turn. Call it inside "
            "AgentExecutor.execute() or cancel(), in the same asyncio task or one started from it."
        ) from None


def enter_turn(turn: Turn) -> None:
    """Make ``turn`` the current one of this asyncio task and those it starts."""
    _current.set(turn)


_turns: dict[str, Callable[[], object]] = {}


@contextlib.contextmanager
def local_turn(run_id: str) -> Generator[asyncio.Event]:
    """Yield an event that is set when the workflow run, in this same process, ends its turn.

    It cancels the turn, or is about to close, which leaves nothing of the turn to complete.

    Temporal delivers a cancel with the answer to a heartbeat, which may be a second away. As a rule
    the turn runs on the worker that holds its workflow, which need not wait for that: a cancel is
    durable before a workflow sees it.
    """
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        # Workflow code runs in threads of its own.
        loop.call_soon_threadsafe(ended.set)

    _turns[run_id] = end
    try:
        yield ended
    finally:
        if _turns.get(run_id) is end:
            del _turns[run_id]


def end_local_turn(run_id: str) -> None:
    """End the turn of a workflow run at once if it is in this process."""
    end = _turns.get(run_id)
    if end is not None:
        end()
