"""Serve a Temporal workflow that knows nothing of A2A, in any language, as it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from a2a.types.a2a_pb2 import Message, Part

from a2a_temporal._log.results import result_parts


@dataclass(frozen=True)
class Signal:
    """A signal to a workflow: its name and arguments as JSON values."""

    name: str
    args: Sequence[Any] = ()


def text_input(message: Message) -> list[Any]:
    """Return the message's text as the workflow's only argument."""
    return ["\n".join(part.text for part in message.parts if part.text)]


@dataclass(frozen=True)
class PlainWorkflow:
    """An existing workflow as an agent: running reads as WORKING, its close as the task's end.

    Attributes:
        type: The workflow type.
        input: Makes the workflow's arguments of the message that begins a task.
        result: Makes the parts of the result artifact of what the workflow returns. Where it
            raises, or makes what A2A's JSON cannot hold, the result is shown as without it.
        answer: Makes a signal of a further message, or raises ``InvalidParamsError``; without it
            the agent takes no further messages.
    """

    type: str
    input: Callable[[Message], Sequence[Any]] = text_input
    result: Callable[[Any], list[Part]] = result_parts
    answer: Callable[[Message], Signal] | None = None
