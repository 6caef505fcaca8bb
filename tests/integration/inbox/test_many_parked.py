"""Thousands of approvals wait: all are listed, all are answered, the inbox stays small.

With ``-s`` it says what it measured.
"""

import asyncio
import json
import re
import sys
import time
import uuid
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

import httpx
import psutil
import pytest
from temporalio.client import Client

from a2a_temporal._log.entries import TaskStart, now_text
from a2a_temporal._log.indexing import start_attributes
from tests.integration.inbox.conftest import Office
from tests.support.inbox import Page
from tests.support.processes import Process, free_port
from tests.support.waiting import eventually

PARKED, AT_ONCE = 5000, 16
MOST_GROWTH_MB = 50


async def park(office: Office, client: Client, number: int) -> None:
    """Start a task as the API does, without waiting for it."""
    at = datetime.now(timezone.utc)
    task_id = str(uuid.uuid4())
    wish = json.dumps({"approvers": [office.group], "summary": f"Pay number {number}?"})
    message = {"messageId": task_id, "role": "ROLE_USER", "parts": [{"text": wish}]}
    start = TaskStart(task_id, f"context-{number % 50}", "Office", message, at=now_text(at))
    await client.start_workflow(
        "Office",
        asdict(start),
        id=task_id,
        task_queue=office.agent.task_queue,
        search_attributes=start_attributes(start, "submitted", at),
    )


@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_five_thousand_are_listed_and_answerable_within_fifty_megabytes(
    office: Office, tmp_path: Path
) -> None:
    client, room = office.agent.temporal, asyncio.Semaphore(AT_ONCE)

    async def parked(number: int) -> None:
        async with room:
            await park(office, client, number)

    await asyncio.gather(*(parked(number) for number in range(PARKED)))
    waiting = f"TaskQueue = '{office.agent.task_queue}' AND A2aState = 'input-required'"

    async def all_parked() -> bool:
        return (await client.count_workflows(waiting)).count == PARKED

    await eventually(all_parked, within=1800, every=1, what="every task parked")

    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps({"ann-secret-token": {"name": "ann", "groups": [office.group]}}))
    port = free_port()
    command = [sys.executable, "-m", "a2a_temporal", "inbox", f"--port={port}"]
    process = Process(
        "inbox",
        [*command, f"--tokens={tokens}"],
        env={"TEMPORAL_ADDRESS": client.service_client.config.target_host},
        log=tmp_path / "inbox.log",
    )
    process.start()
    try:
        await walk_and_answer(f"http://127.0.0.1:{port}", process)
    finally:
        await process.put_away()
    await eventually(
        lambda: _completed(client, office.agent.task_queue), within=120, what="every answer counted"
    )


async def walk_and_answer(url: str, process: Process) -> None:
    headers = {"Authorization": "Bearer ann-secret-token"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as http:

        async def is_up() -> bool:
            try:
                return (await http.get("/readyz")).status_code == 200
            except httpx.TransportError:
                return False

        await eventually(is_up, within=60, what="the inbox")
        await http.get("/sign-in")
        idle = psutil.Process(process.pid).memory_info().rss
        began = time.monotonic()
        listed: list[str] = []
        path: str | None = "/"
        while path:
            page = Page(await http.get(path))
            listed += [link for link in page.links if link.startswith("/tasks/")]
            path = next((link for link in page.links if "page=" in link), None)
        assert len(listed) == len(set(listed)) == PARKED

        room = asyncio.Semaphore(AT_ONCE)

        async def approve(link: str) -> None:
            async with room:
                form = Page(await http.get(link)).form_of("approval-1")
                sent = await http.post(link, data=form.values | {"do": "approve"})
                assert sent.status_code == 303, re.sub(r"\s+", " ", sent.text)

        pages, listing = time.monotonic(), time.monotonic() - began
        await asyncio.gather(*(approve(link) for link in listed))
        answering = time.monotonic() - pages
        grown = (psutil.Process(process.pid).memory_info().rss - idle) / 1e6
        print(
            f"{PARKED} listed in {listing:.0f} s, answered in {answering:.0f} s "
            f"({PARKED / answering:.0f} a second); {idle / 1e6:.0f} MB idle, {grown:+.0f} MB"
        )
        assert grown <= MOST_GROWTH_MB, f"grew by {grown:.0f} MB"


async def _completed(client: Client, task_queue: str) -> bool:
    query = f"TaskQueue = '{task_queue}' AND ExecutionStatus = 'Completed'"
    return (await client.count_workflows(query)).count == PARKED
