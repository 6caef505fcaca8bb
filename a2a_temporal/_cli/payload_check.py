"""The check of ``doctor`` that this process has the keys, codec and storage of the tasks."""

import asyncio

from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from a2a_temporal._cli.checks import Finding, Level
from a2a_temporal._encryption import KEYS_VARIABLE
from a2a_temporal._gateway import Gateway, converter_of, is_missing_workflow
from a2a_temporal._log import wire
from a2a_temporal._reading.decode import LogUnreadableError, start_of
from a2a_temporal._storage import STORAGE_VARIABLE

_NEWEST = 20
_NAME = "payloads"
_ENCRYPTED = b"binary/encrypted"


async def payloads(client: Client) -> Finding:
    """Read how the newest tasks began, as every server and worker has to.

    Raises:
        temporalio.service.RPCError: Temporal did not answer.
    """
    try:
        starts = await _newest(client)
    except RPCError as error:
        if error.status != RPCStatusCode.INVALID_ARGUMENT:
            raise
        return Finding(Level.NOTE, _NAME, "not checked: tasks are found by the search attributes")
    if not starts:
        return Finding(Level.NOTE, _NAME, "there is no task yet that this process could read")
    faults = await asyncio.gather(*(_fault(client, start) for start in starts))
    unread = [fault for fault in faults if fault]
    if unread:
        many = f"{len(unread)} of the {len(starts)} newest tasks" if len(starts) > 1 else "the task"
        return Finding(Level.FAIL, _NAME, f"{many} cannot be read here: {unread[0]}")
    return _readable(client, starts)


def _readable(client: Client, starts: list[HistoryEvent]) -> Finding:
    text = f"{_count(len(starts))} can be read"
    newest = _payload(starts[0])
    key = _key_of(newest)
    if newest.external_payloads:
        return Finding(Level.OK, _NAME, f"{text}, the newest from external storage")
    encrypts = client.data_converter.payload_codec is not None
    if encrypts and newest.metadata.get("encoding", b"").startswith(b"json/"):
        return Finding(
            Level.NOTE,
            _NAME,
            f"{text}, but the newest is not encrypted, and this process encrypts what it writes: "
            f"give all servers, workers and inboxes the same {KEYS_VARIABLE}",
        )
    how = f"encrypted with key {key!r}" if key else "not encrypted"
    return Finding(Level.OK, _NAME, f"{text}, {how if key or not encrypts else 'encoded'}")


async def _newest(client: Client) -> list[HistoryEvent]:
    """Return how the newest tasks began, newest first."""
    gateway = Gateway(client)
    listed = await gateway.list_page(f"{wire.AGENT_ATTRIBUTE} IS NOT NULL", size=_NEWEST)
    found = await asyncio.gather(*(_start(gateway, each.execution) for each in listed.executions))
    # Temporal lists what still runs before what has ended.
    starts = [start for start in found if start is not None]
    return sorted(starts, key=lambda start: start.event_time.ToNanoseconds(), reverse=True)


async def _start(gateway: Gateway, run: WorkflowExecution) -> HistoryEvent | None:
    """Return a run's first event; ``None`` when the run was deleted meanwhile."""
    try:
        page = await gateway.history_page(run.workflow_id, run.run_id, size=1)
    except RPCError as error:
        if not is_missing_workflow(error):
            raise
        return None
    return page.history.events[0] if page.history.events else None


async def _fault(client: Client, start: HistoryEvent) -> str:
    """Return why a task cannot be read here and what to set; empty when it can."""
    if _payload(start).external_payloads and client.data_converter.external_storage is None:
        return f"it lies in external storage, and none is set here; set {STORAGE_VARIABLE}"
    payload = _payload(start)
    workflow_id = start.workflow_execution_started_event_attributes.workflow_id
    try:
        await start_of(start, converter_of(client, workflow_id), expected=True)
    except LogUnreadableError as error:
        keyless = client.data_converter.payload_codec is None
        if keyless and payload.metadata.get("encoding") == _ENCRYPTED:
            return (
                f"it is encrypted with key {_key_of(payload)!r}, and no key is set here; set "
                f"{KEYS_VARIABLE} as servers and workers have it"
            )
        if isinstance(error.__cause__, KeyError):  # of a converter that does not know the encoding
            encoding = payload.metadata.get("encoding", b"").decode(errors="replace")
            return (
                f"its start is {encoding!r}, which this process does not understand: a codec of "
                "your own is unknown to the command line"
            )
        return str(error.__cause__ or error)
    return ""


def _payload(start: HistoryEvent) -> Payload:
    started = start.workflow_execution_started_event_attributes
    if wire.START_MEMO in started.memo.fields:
        return started.memo.fields[wire.START_MEMO]
    return next(iter(started.input.payloads), Payload())


def _key_of(payload: Payload) -> str:
    return payload.metadata.get("encryption-key-id", b"").decode(errors="replace")


def _count(number: int) -> str:
    return "the only task" if number == 1 else f"the {number} newest tasks"
