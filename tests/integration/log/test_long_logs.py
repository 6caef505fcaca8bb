"""Logs of more than one page: a reader starts with all of it, wherever the page ends."""

import uuid
from dataclasses import asdict

import pytest
from temporalio.client import Client

from a2a_temporal._log import wire
from a2a_temporal._log.entries import TaskStart
from a2a_temporal._log.protojson import to_json
from a2a_temporal._reading.cache import Logs
from a2a_temporal._reading.reader import read_log
from a2a_temporal._server.feeds import Feeds
from tests.support.in_process import request
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import within

PAGE = 256


@pytest.mark.parametrize("events", [PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 600])
async def test_a_snapshot_holds_every_page_of_the_log(
    temporal: TemporalServer, events: int
) -> None:
    client = await temporal.client()
    task_id = await _task_with_events(client, events)
    feeds = Feeds(client, Logs(client), agent="agent", long_polls=5)
    try:
        reader = await within(30, _first(feeds, task_id), what="a snapshot")
    finally:
        await feeds.aclose()
    assert len(reader) == len((await read_log(client, task_id)).task.history) == events - 1


async def _first(feeds: Feeds, task_id: str) -> list[str]:
    async with feeds.follow(task_id) as reader:
        return [message.message_id for message in reader.snapshot().history]


async def _task_with_events(client: Client, events: int) -> str:
    """A task that no worker has seen: its start, one workflow task, and a message for the rest."""
    task_id = str(uuid.uuid4())
    start = TaskStart(
        task_id=task_id,
        context_id="context",
        agent="agent",
        message=to_json(request("0").message),
        at="2026-01-02T12:00:00Z",
    )
    workflow = await client.start_workflow(
        wire.AGENT_WORKFLOW, asdict(start), id=task_id, task_queue="nobody"
    )
    for number in range(events - 2):
        await workflow.signal(
            wire.MESSAGE_SIGNAL, {"message": to_json(request(str(number + 1)).message)}
        )
    assert (await workflow.describe()).history_length == events
    return task_id
