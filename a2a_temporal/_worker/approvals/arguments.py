"""Checks of what workflow authors say: where they say it, by type and range.

What they raise fails the task with a text for its operator.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, cast

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a_temporal._log.exact import is_text
    from a2a_temporal._log.names import LONGEST_NAME, normal

_LONGEST = timedelta(days=36500)


def text(name: str, value: Any) -> str:
    """Return a text that somebody reads.

    Raises:
        TypeError: It is none.
        ValueError: It is empty, or no Unicode.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {value!r:.200}.")
    if not is_text(value) or not normal(value):
        raise ValueError(f"{name} must be a text that people can read, got {value!r:.200}.")
    return str.__str__(value)


def optional_text(name: str, value: Any) -> str:
    """Return a text that may be empty.

    Raises:
        TypeError: It is none.
        ValueError: It is no Unicode.
    """
    return text(name, value) if value != "" else ""


def names(what: str, given: Iterable[Any]) -> tuple[str, ...]:
    """Return names of people or groups.

    Raises:
        TypeError: One is no text, such as a list of names.
        ValueError: One is empty, or no Unicode.
    """
    for each in given:
        if isinstance(each, (list, tuple, set, frozenset)):
            raise TypeError(
                f'{what} takes names one by one, {what}("ann", "bob"), got {each!r:.200}.'
            )
    found = tuple(text(f"A name of {what}", each) for each in given)
    if any(len(each) > LONGEST_NAME for each in found):
        raise ValueError(f"A name of {what} has at most {LONGEST_NAME} characters.")
    return found


def choices(given: Any) -> list[str]:
    """Return offered answers.

    Raises:
        TypeError: They are no sequence of texts.
        ValueError: One is empty, or offered twice.
    """
    if isinstance(given, (str, bytes, dict)) or not isinstance(given, Iterable):
        raise TypeError(f"choices must be a list of texts, got {given!r:.200}.")
    offered = [text("A choice", each) for each in cast("Iterable[Any]", given)]
    if len(set(map(str.strip, offered))) < len(offered):
        raise ValueError(f"choices must differ from each other, got {offered!r:.200}.")
    return offered


def duration(name: str, value: Any) -> timedelta | None:
    """Return how long something takes, or None.

    Raises:
        TypeError: It is no timedelta.
        ValueError: It is not positive, or longer than a hundred years.
    """
    if value is None:
        return None
    if not isinstance(value, timedelta):
        raise TypeError(f"{name} must be a timedelta, got {value!r:.200}.")
    if not timedelta(0) < value <= _LONGEST:
        raise ValueError(f"{name} must be positive, and a hundred years at most, got {value!r}.")
    return value


def quorum(what: str, value: Any) -> int:
    """Return how many must agree.

    Raises:
        TypeError: It is no integer.
        ValueError: It is less than one.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what}.quorum must be an integer, got {value!r:.200}.")
    if not 1 <= value <= _LARGEST_QUORUM:
        raise ValueError(
            f"{what}.quorum must be at least 1, and {_LARGEST_QUORUM} at most, got {value!r:.40}."
        )
    return value


_LARGEST_QUORUM = 1000


def flag(name: str, value: Any) -> bool:
    """Return a yes or no.

    Raises:
        TypeError: It is neither.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r:.200}.")
    return value
