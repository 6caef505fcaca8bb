"""Index the open tasks that began before their namespace had the search attributes."""

import asyncio
import logging
from datetime import timedelta

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._executions import OPEN, listed
from a2a_temporal._gateway import Gateway, converter_of
from a2a_temporal._log import wire
from a2a_temporal._reading.decode import LogUnreadableError, start_of
from a2a_temporal._reading.pages import history_events
from a2a_temporal._reconnecting import reconnecting
from a2a_temporal._server.search_attributes import register_search_attributes

logger = logging.getLogger("a2a_temporal.cli")

_CALL = timedelta(seconds=5)
_UNINDEXED = f"{OPEN} AND {wire.AGENT_ATTRIBUTE} IS NULL"
UNINDEXED = f"{_UNINDEXED} AND WorkflowType = '{wire.AGENT_WORKFLOW}'"
"""The open tasks of executors that are not indexed; those of authors have other types."""
_NO_TASKS = f"WorkflowType NOT IN ('{wire.PUSH_WORKFLOW}', '{wire.LATE_CONFIGS_WORKFLOW}')"


async def index_open_tasks(client: Client, stop: asyncio.Event) -> tuple[int, int]:
    """Ask every open task that is not indexed to index itself; its next worker does.

    Workflows that know nothing of A2A cannot, nor can what has ended.

    Returns:
        How many tasks were asked, and how many workflows may be tasks but cannot be read here.

    Raises:
        temporalio.service.RPCError: Temporal did not answer, or has no search attributes of tasks.
    """
    await register_search_attributes(Gateway(client))
    asked = left = 0
    async for found in listed(client, f"{_UNINDEXED} AND {_NO_TASKS}"):
        if stop.is_set():
            break
        workflow_id = found.execution.workflow_id
        try:
            indexes_itself = await _indexes_itself(client, workflow_id)
        except LogUnreadableError as error:
            logger.error("Task %s cannot be read here: %s", workflow_id, error.__cause__ or error)
            left += 1
            continue
        if indexes_itself:
            asked += await _ask(client, workflow_id)
    return asked, left


async def _indexes_itself(client: Client, workflow_id: str) -> bool:
    try:
        async for event in history_events(Gateway(client), workflow_id):
            start = await start_of(event, converter_of(client, workflow_id))
            return start is not None and not start.plain
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
    return False


async def _ask(client: Client, task_id: str) -> bool:
    workflow = client.get_workflow_handle(task_id)
    try:
        await reconnecting(lambda: workflow.signal(wire.INDEX_SIGNAL, rpc_timeout=_CALL))
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:  # it has ended meanwhile
            raise
        return False
    return True
