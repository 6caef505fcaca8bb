"""The workflow-task budget: how many bytes one workflow task may emit.

A worker answers a workflow task in one request of at most 4 MB. Temporal refuses a larger one: it
would retry the workflow task for ever, or terminate the workflow.
"""

import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a_temporal.errors import PublicError

PAYLOAD_LIMITS_FUNCTION = "a2a_payload_limits"
"""Extern function through which the plugin hands its ``PayloadLimits`` to workflows."""

_TASK_BYTES = 3_000_000
_REQUEST_BYTES = 3_900_000
# A payload may have 2 MiB, and codecs need some room of it.
_PAYLOAD_BYTES = 2_096_000
_REFERENCE_BYTES = 500
_PAUSE = timedelta(milliseconds=1)
_STORAGE = "ExternalStorage on the Temporal client's data converter"


@dataclass(frozen=True)
class PayloadLimits:
    """What a worker's data converter makes of large payloads.

    Attributes:
        entry: The largest entry in bytes of JSON; None with external storage.
        stored_from: The size from which on a payload is stored outside; None without storage.
        known: Nothing makes payloads smaller on their way.
    """

    entry: int | None
    stored_from: int | None = None
    known: bool = True


class WorkflowTaskBudget:
    """Counts what the present workflow task has emitted, and refuses what it cannot carry."""

    def __init__(self) -> None:
        self._limits: PayloadLimits = workflow.extern_functions()[PAYLOAD_LIMITS_FUNCTION]()
        self._counted_for = -1
        self._entry_bytes = self._argument_bytes = 0

    @property
    def full(self) -> bool:
        """True when so much was emitted that one entry more may not fit."""
        entry = self._limits.entry
        return entry is not None and self._entries > _TASK_BYTES - entry

    def take(self, value: Any) -> None:
        """Count an entry that this workflow task emits.

        Raises:
            PublicError: It is larger than an entry, or than what is left of the budget.
        """
        size = len(json.dumps(value))
        if self._limits.entry is not None and size > self._limits.entry:
            raise PublicError(
                f"An event of {size} bytes was published; {self._limits.entry} bytes fit into one "
                "entry of the task log. Publish it in chunks (append=True), or configure "
                f"{_STORAGE}."
            )
        stored_from = self._limits.stored_from
        # A payload is smaller than spaced JSON.
        if stored_from and len(json.dumps(value, separators=(",", ":"))) >= stored_from:
            size = _REFERENCE_BYTES
        total = self._entries + size
        if total > _TASK_BYTES:
            advice = f", or configure {_STORAGE}" if stored_from is None else ""
            raise PublicError(
                f"{total} bytes were published in one step; {_TASK_BYTES} fit. Await something in "
                f"between, such as the activity that makes the next part{advice}."
            )
        self._check_request(size, "An event")
        self._entry_bytes = total

    def call(self, sizes: Sequence[int], what: str) -> None:
        """Count the arguments of a call that leaves with this workflow task.

        Raises:
            PublicError: They do not fit.
        """
        if not self._limits.known:
            return
        size = sum(map(self._sent, sizes))
        self._check_sent(size, what)
        self._argument_bytes += size

    def holds(self, value: Any) -> bool:
        """Say whether a value is no larger than an entry may be."""
        return self._limits.entry is None or len(json.dumps(value)) <= self._limits.entry

    def check_payload(self, size: int, what: str) -> None:
        """Check that a payload fits beside the entries, without counting it.

        Raises:
            PublicError: It does not fit.
        """
        self._check_sent(self._sent(size), what)

    async def room_for(self, *sizes: int) -> None:
        """Go on in the next workflow task if this one has no room for payloads of some sizes.

        A cancel that comes meanwhile changes nothing: what is about to be published is the end.
        """
        more = sum(map(self._sent, sizes))
        if self._used and self._used + more > _TASK_BYTES:
            with contextlib.suppress(asyncio.CancelledError):
                await workflow.sleep(_PAUSE, summary="Room for the end")

    def _check_sent(self, size: int, what: str) -> None:
        if size > _PAYLOAD_BYTES:
            raise PublicError(
                f"{what} has {size} bytes; Temporal takes {_PAYLOAD_BYTES}. Configure {_STORAGE}."
            )
        self._check_request(size, what)

    def _check_request(self, size: int, what: str) -> None:
        if self._used + size > _REQUEST_BYTES:
            raise PublicError(
                f"{what} has {size} bytes, and {self._used} were published or handed to others in "
                "the same step. Await something in between."
            )

    @property
    def _used(self) -> int:
        return self._entries + self._argument_bytes

    @property
    def _entries(self) -> int:
        """The bytes of entries so far; a new workflow task begins at 0."""
        now = workflow.info().get_current_history_length()
        if now != self._counted_for:
            self._counted_for = now
            self._entry_bytes = self._argument_bytes = 0
        return self._entry_bytes

    def _sent(self, size: int) -> int:
        """Return what a payload of a size takes in the request."""
        stored_from = self._limits.stored_from
        return _REFERENCE_BYTES if stored_from is not None and size >= stored_from else size
