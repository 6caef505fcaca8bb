"""The workflow that takes push configs of a finished task: only its history matters.

Readers fold start and signals (:mod:`a2a_temporal._reading.late_configs`). Nothing is delivered:
all events of the task are past.
"""

import asyncio
import contextlib
from datetime import timedelta
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a_temporal._log import wire

_IDLE = timedelta(seconds=5)
_MOST_CHANGES = 500


@workflow.defn(name=wire.LATE_CONFIGS_WORKFLOW, sandboxed=False)
class LateConfigsWorkflow:
    """Open while changes come, so that a burst of them is one workflow.

    Outside the sandbox: the code is the library's own and reads neither clock nor environment.
    """

    @workflow.init
    def __init__(self, start: dict[str, Any]) -> None:
        self._changes = 0

    @workflow.signal(name=wire.PUSH_CONFIG_SIGNAL)
    def change(self, entry: Any) -> None:
        """Note that there was a change; Temporal closes no workflow that has one unnoticed."""
        self._changes += 1

    @workflow.run
    async def run(self, start: dict[str, Any]) -> None:
        """Wait until no change has come for a while, or there were many."""
        seen = -1
        while seen != self._changes and self._changes < _MOST_CHANGES:
            seen = self._changes
            with contextlib.suppress(asyncio.TimeoutError):
                await workflow.wait_condition(
                    lambda known=seen: self._changes != known, timeout=_IDLE
                )
