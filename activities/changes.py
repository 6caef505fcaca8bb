"""Read, apply and roll back a change of production."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from annotated_types import Len
from pydantic import TypeAdapter, ValidationError
from temporalio import activity

from a2a_temporal import PublicError
from activities.outside import take_effect


@dataclass(frozen=True)
class Change:
    """A new version of a service; ``not_before`` opens its change window."""

    service: Annotated[str, Len(1)]
    version: Annotated[str, Len(1)]
    reason: str = ""
    not_before: datetime | None = None

    def __str__(self) -> str:
        return f"{self.service} {self.version}"


@activity.defn
async def read_change(text: str, data: Any) -> Change:
    """Make a change from a message's data, or from the text 'service version reason'.

    Raises:
        PublicError: Neither names a service and a version.
    """
    words = text.split(maxsplit=2)
    given = data or dict(zip(("service", "version", "reason"), words, strict=False))
    try:
        return TypeAdapter(Change).validate_python(given)
    except ValidationError as error:
        problems = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors())
        raise PublicError(
            f"This is no change: {problems}. Write 'shop 2.4.1 faster search', or send data with "
            "service, version, reason and, if it must wait, not_before."
        ) from error


@activity.defn
async def deploy(change: Change, key: str) -> str:
    """Apply a change to production, once for each key. Returns a log line."""
    await asyncio.to_thread(take_effect, "deployment", key, change=str(change))
    return f"{change} is live"


@activity.defn
async def roll_back(change: Change, key: str) -> str:
    """Roll a change back, once for each key. Returns a log line."""
    await asyncio.to_thread(take_effect, "rollback", key, change=str(change))
    return f"{change} was taken back"
