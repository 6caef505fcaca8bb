"""Push configs of a finished task: its log takes no entries any more, so they are kept beside it.

A change opens a small workflow, ``<task id>/push/configs/<n>``, by one signal-with-start: the start
holds the configs so far, the signal is the entry the log would have got. It closes when nothing has
come for a while; the next change opens the next number. An id is used once, so the start of a
number holds the final configs of the one before: no change is lost between two of them.
"""

from dataclasses import dataclass
from typing import Any, cast

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._gateway import Gateway, converter_of
from a2a_temporal._log import wire
from a2a_temporal._log.entries import CloseEntry, PushConfigEntry
from a2a_temporal._log.state import (
    LogState,
    PushConfig,
    change_push_configs,
    parse_push_configs,
    push_configs_to_json,
)
from a2a_temporal._reading.decode import decoded, entry_of
from a2a_temporal._reading.pages import history_events


@dataclass
class LateConfigs:
    """The push configs of a finished task, as its log and the changes since then have them.

    ``next`` is the number of the workflow that takes the next change.
    """

    task_id: str
    configs: dict[str, PushConfig]
    revision: int
    next: int = 1

    @property
    def workflow_id(self) -> str:
        """The id of the workflow that takes the next change."""
        return wire.late_configs_id(self.task_id, self.next)

    def start(self) -> dict[str, Any]:
        """Return the input of that workflow, should it not be open yet."""
        return {
            "version": wire.LOG_VERSION,
            "task_id": self.task_id,
            "push_configs": push_configs_to_json(self.configs),
            "push_revision": self.revision,
        }

    def restore(self, start: Any) -> None:
        """Take over what the start of a workflow holds."""
        carried = cast("dict[str, Any]", start)
        self.configs = parse_push_configs(carried["push_configs"])
        self.revision = int(carried["push_revision"])

    def apply(self, entry: PushConfigEntry) -> None:
        """Set or delete a config."""
        self.revision = change_push_configs(self.configs, entry, self.revision)


async def read_late_configs(client: Client, state: LogState) -> LateConfigs:
    """Return the push configs of a finished task; needs no worker.

    Args:
        client: Connected client; payloads are decoded with its data converter.
        state: The task's whole log.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    task_id = state.task.id
    late = LateConfigs(task_id, dict(state.push_configs), state.push_revision)
    number = await _latest(client, task_id)
    if number:
        late.next = number
        workflow_id = late.workflow_id
        converter = converter_of(client, workflow_id)
        async for event in history_events(Gateway(client), workflow_id):
            await _read_event(late, event, converter)
    return late


async def _read_event(late: LateConfigs, event: HistoryEvent, converter: DataConverter) -> None:
    started = event.workflow_execution_started_event_attributes
    if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
        late.restore(await decoded(started.input.payloads[:1], converter))
        return
    entry = await entry_of(event, converter)
    if isinstance(entry, PushConfigEntry):
        late.apply(entry)
    elif isinstance(entry, CloseEntry):
        late.next += 1


async def _latest(client: Client, task_id: str) -> int:
    """Return the highest number there is; they are without gaps, so a few look-ups find it."""
    known, beyond = 0, 1
    while await _exists(client, task_id, beyond):
        known, beyond = beyond, 2 * beyond
    while beyond - known > 1:
        middle = (known + beyond) // 2
        if await _exists(client, task_id, middle):
            known = middle
        else:
            beyond = middle
    return known


async def _exists(client: Client, task_id: str, number: int) -> bool:
    workflow_id = wire.late_configs_id(task_id, number)
    try:
        await Gateway(client).describe(workflow_id)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True
