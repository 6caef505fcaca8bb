"""How much one step of a workflow may hold: a workflow task is answered in one request of 4 MB.

What is larger Temporal would refuse: it would retry the workflow task for ever, or terminate the
workflow.
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

STEP_LIMITS_FUNCTION = "a2a_step_limits"
"""Extern function through which the plugin hands its ``StepLimits`` to workflows."""

_STEP_BYTES = 3_000_000
_REQUEST_BYTES = 3_900_000
# A payload may have 2 MiB, and codecs need some room of it.
_PAYLOAD_BYTES = 2_096_000
_REFERENCE_BYTES = 500
_PAUSE = timedelta(milliseconds=1)


@dataclass(frozen=True)
class StepLimits:
    """What a worker's data converter makes of large payloads.

    Attributes:
        entry: The largest entry in bytes of JSON; None with external storage.
        stored_from: The size from which on a payload is stored outside; None without storage.
        known: Nothing makes payloads smaller on their way.
    """

    entry: int | None
    stored_from: int | None = None
    known: bool = True


class Step:
    """What the present workflow task has to carry already."""

    def __init__(self) -> None:
        self._limits: StepLimits = workflow.extern_functions()[STEP_LIMITS_FUNCTION]()
        self._emitted = self._called = (0, 0)

    @property
    def full(self) -> bool:
        """True when so much was emitted that one entry more may not fit."""
        return self._limits.entry is not None and self._size > _STEP_BYTES - self._limits.entry

    def take(self, value: Any) -> None:
        """Count an entry that is emitted in this step.

        Raises:
            PublicError: It is larger than an entry, or than what the step has room for.
        """
        size = len(json.dumps(value))
        if self._limits.entry is not None and size > self._limits.entry:
            raise PublicError(
                f"An event of {size} bytes was published; {self._limits.entry} bytes fit into one "
                "entry of the task log. Publish it in chunks (append=True), or configure "
                "ExternalStorage on the Temporal client's data converter."
            )
        size = self._sent_as_payload(value, size)
        total = self._size + size
        if total > _STEP_BYTES:
            advice = (
                ", or configure ExternalStorage on the Temporal client's data converter"
                if self._limits.stored_from is None
                else ""
            )
            raise PublicError(
                f"{total} bytes were published in one step; {_STEP_BYTES} fit. Await something in "
                f"between, such as the activity that makes the next part{advice}."
            )
        self._check_request(size, "An event")
        self._emitted = (_now(), total)

    def call(self, sizes: Sequence[int], what: str) -> None:
        """Count the arguments of a call that leaves with this step.

        Raises:
            PublicError: They cannot.
        """
        if not self._limits.known:
            return
        size = sum(map(self._sent, sizes))
        self._check_sent(size, what)
        self._called = (_now(), self._arguments + size)

    def holds(self, value: Any) -> bool:
        """Say whether a value is no larger than an entry may be."""
        return self._limits.entry is None or len(json.dumps(value)) <= self._limits.entry

    def check_payload(self, size: int, what: str) -> None:
        """Check that a payload beside the entries can leave with this step.

        Raises:
            PublicError: It cannot, now or ever.
        """
        self._check_sent(self._sent(size), what)

    async def room_for(self, *sizes: int) -> None:
        """Go on in the next step if this one has no room for payloads of some sizes.

        A cancel that comes meanwhile changes nothing: what is about to be said is the end.
        """
        more = sum(map(self._sent, sizes))
        full = self._size + self._arguments + more > _STEP_BYTES
        if full and (self._size or self._arguments):
            with contextlib.suppress(asyncio.CancelledError):
                await workflow.sleep(_PAUSE, summary="Room for the end")

    def _check_sent(self, size: int, what: str) -> None:
        if size > _PAYLOAD_BYTES:
            raise PublicError(
                f"{what} has {size} bytes; Temporal takes {_PAYLOAD_BYTES}. Configure "
                "ExternalStorage on the Temporal client's data converter."
            )
        self._check_request(size, what)

    def _check_request(self, size: int, what: str) -> None:
        before = self._size + self._arguments
        if before + size > _REQUEST_BYTES:
            raise PublicError(
                f"{what} has {size} bytes, and {before} were published or handed to others in the "
                "same step. Await something in between."
            )

    @property
    def _size(self) -> int:
        step, emitted = self._emitted
        return emitted if step == _now() else 0

    @property
    def _arguments(self) -> int:
        step, called = self._called
        return called if step == _now() else 0

    def _sent_as_payload(self, value: Any, size: int) -> int:
        if self._limits.stored_from is None:
            return size
        # A payload is smaller than spaced JSON.
        stored = self._is_stored(len(json.dumps(value, separators=(",", ":"))))
        return _REFERENCE_BYTES if stored else size

    def _sent(self, size: int) -> int:
        return _REFERENCE_BYTES if self._is_stored(size) else size

    def _is_stored(self, size: int) -> bool:
        stored_from = self._limits.stored_from
        return stored_from is not None and size >= stored_from


def _now() -> int:
    """Return what tells this step from all others."""
    return workflow.info().get_current_history_length()
