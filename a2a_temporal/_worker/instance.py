"""The library's objects of the running workflow instance.

They are attributes of its event loop, which is the instance's own. A run id would not do: a
replayer in the same process has instances of the same run.
"""

import asyncio
from typing import TypeVar

T = TypeVar("T")


def bind(value: object) -> None:
    """Make ``value`` the object of its class for the running workflow instance."""
    setattr(asyncio.get_running_loop(), _name(type(value)), value)


def bound(kind: type[T]) -> T | None:
    """Return the running workflow instance's object of a class; ``None`` when it has none."""
    return getattr(asyncio.get_running_loop(), _name(kind), None)


def _name(kind: type[object]) -> str:
    return f"_a2a_{kind.__name__}"
