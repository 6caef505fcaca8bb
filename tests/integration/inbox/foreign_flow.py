"""A workflow that writes its log without the library, and gets some of it wrong."""

import asyncio
import json
from datetime import timezone
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey

with workflow.unsafe.imports_passed_through():
    from a2a_temporal._log.requests import APPROVALS_EXTENSION

from a2a_temporal.workflow import TaskStart


def _ignore(message: Any) -> None:
    """Take no notice."""


_STATE = SearchAttributeKey.for_keyword("A2aState")
_UPDATED = SearchAttributeKey.for_datetime("A2aUpdatedAt")
_APPROVERS = SearchAttributeKey.for_keyword_list("A2aApprovers")


@workflow.defn
class Foreign:
    """Says of requests what its message holds, and waits."""

    @workflow.init
    def __init__(self, start: TaskStart) -> None:
        workflow.set_signal_handler("a2a_message", _ignore)

    @workflow.run
    async def run(self, start: TaskStart) -> None:
        """Say it."""
        wish: dict[str, Any] = json.loads(start.message["parts"][0]["text"])
        message = {
            "messageId": f"{start.task_id}-1",
            "role": "ROLE_AGENT",
            "parts": [{"text": "Well?"}],
            "metadata": {APPROVALS_EXTENSION: wish["about"]},
        }
        at = workflow.now().astimezone(timezone.utc)
        status = {"state": "TASK_STATE_INPUT_REQUIRED", "message": message}
        written = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        events = [{"statusUpdate": {"status": status}}]
        workflow.upsert_memo({"a2a": {"version": 1, "at": written, "events": events}})
        workflow.upsert_search_attributes(
            [
                _STATE.value_set("input-required"),
                _UPDATED.value_set(at),
                _APPROVERS.value_set(wish["approvers"]),
            ]
        )
        await asyncio.sleep(3600)
